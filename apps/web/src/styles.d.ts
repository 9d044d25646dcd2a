/** Lets TypeScript accept the import of the style sheet, which the bundler handles. */
declare module '@countersign/ui/styles.css';
