import { EmptyState } from '../frame/states.tsx';
import { useWords } from '../words/words.ts';

interface ChatStartProps {
  readonly isManual: boolean;
  /** The server's suggestion for the first message. */
  readonly firstMessage: string | null;
  onSuggest(text: string): void;
}

/** Calls that show the whole loop in any workspace: read, change with an approval, run. */
const typedCalls = [
  '/list_directory path=.',
  '/read_file path=README.md',
  '/write_file path=notes.md content="Hello from Countersign"',
  '/run npm test',
] as const;

/** A conversation that has not begun. */
export function ChatStart({ isManual, firstMessage, onSuggest }: ChatStartProps) {
  const { chat } = useWords();
  const suggestions = firstMessage !== null ? [firstMessage] : isManual ? typedCalls : [];
  return (
    <div className="chat-start">
      <EmptyState title={chat.emptyTitle} hint={isManual ? chat.emptyManual : chat.empty}>
        {suggestions.length > 0 && (
          <ul className="suggestions" aria-label={chat.suggestions}>
            {suggestions.map((text) => (
              <li key={text}>
                <button type="button" className="suggestion" onClick={() => onSuggest(text)}>
                  <code>{text}</code>
                </button>
              </li>
            ))}
          </ul>
        )}
      </EmptyState>
    </div>
  );
}
