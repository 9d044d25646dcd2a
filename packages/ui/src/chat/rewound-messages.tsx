import { type ReactNode, useState } from 'react';
import { Button } from '../frame/button.tsx';
import { useWords } from '../words/words.ts';

interface RewoundMessagesProps {
  readonly count: number;
  readonly children: ReactNode;
}

/** Messages that the conversation went back behind: folded, because the agent no longer reads them. */
export function RewoundMessages({ count, children }: RewoundMessagesProps) {
  const { message: words } = useWords().conversation;
  const [isOpen, setOpen] = useState(false);
  return (
    <section className="rewound">
      <p className="rewound-line">
        {words.rewound(count)}{' '}
        <Button look="quiet small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? words.hideRewound : words.showRewound}
        </Button>
      </p>
      {isOpen && <div className="rewound-messages">{children}</div>}
    </section>
  );
}
