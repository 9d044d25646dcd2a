/** Where it is, or will be. The last number changes when the way of installing does. */
export declare const vsCodeFolder: string;
/** What a test starts: `node entry.js --auth none …`. */
export declare const vsCodeProgram: {
    node: string;
    entry: string;
};
export declare const isVsCodeInstalled: () => boolean;
/** Installs it step by step; a step that was done is not repeated, so an interrupted one goes on. */
export declare function installVsCode(): Promise<boolean>;
