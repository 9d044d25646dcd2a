export interface RunResult {
    /** 1 also when the program could not be started or was killed. */
    readonly exitCode: number;
    /** Both streams in order of arrival; empty when they were shown directly. */
    readonly output: string;
}
export declare function run(program: string, args: readonly string[], { capture, cwd }?: {
    capture?: boolean | undefined;
    cwd?: any;
}): Promise<RunResult>;
