import rehypeHighlight from 'rehype-highlight';
import Markdown from './markdown.tsx';

/** Loaded with the first answer that has code of a named language: the highlighter is half of the bundle. */
export default function HighlightedMarkdown({ text }: { readonly text: string }) {
  return <Markdown text={text} rehypePlugins={[rehypeHighlight]} />;
}
