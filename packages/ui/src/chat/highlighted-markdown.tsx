import rehypeHighlight from 'rehype-highlight';
import Markdown from './markdown.tsx';

/** Loaded with the first code block that names its language: the highlighter is half of the bundle. */
export default function HighlightedMarkdown({ text }: { readonly text: string }) {
  return <Markdown text={text} rehypePlugins={[rehypeHighlight]} />;
}
