import type { CallState } from '@countersign/approvals';

const shapes: Readonly<Record<CallState, string>> = {
  pending: 'M8 3v5l3 2',
  awaiting_approval: 'M8 4v5M8 12v.5',
  approved: 'M4 8.5 7 11l5-6',
  executing: 'M8 3a5 5 0 1 1-5 5',
  completed: 'M4 8.5 7 11l5-6',
  failed: 'M5 5l6 6M11 5l-6 6',
  blocked: 'M3.5 3.5l9 9',
  rejected: 'M4 8h8',
  timeout: 'M8 3v5l3 2',
  cancelled: 'M4.5 11.5l7-7',
  not_started: 'M4.5 11.5l7-7',
  nonzero: 'M4.5 6.5h7M4.5 9.5h7M10 4 6 12',
  undone: 'M6.5 4 4 6.5 6.5 9M4 6.5h5a2.5 2.5 0 0 1 0 5H6.5',
};

/** The icon for a call's state. Hidden from screen readers, because the state is also written beside it. */
export function StatusMark({ status }: { readonly status: CallState }) {
  return (
    <svg className={`mark mark-${status}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <circle cx="8" cy="8" r="7" className="mark-ring" />
      <path d={shapes[status]} className="mark-shape" />
    </svg>
  );
}
