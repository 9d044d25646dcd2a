/** The page's icons, as SVG paths. */
const paths = {
  chat: 'M4 5h16v11H9l-5 4z',
  approvals: 'M5 13l4 4L19 7M4 20h16',
  history: 'M12 7v5l3 2M4.5 9A8 8 0 1 1 4 13M4 4v5h5',
  metrics: 'M5 20V11M12 20V4M19 20v-6',
  permissions: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z',
  runners: 'M4 5h16v11H4zM9 20h6M12 16v4M8 9l2 2-2 2',
  settings: 'M4 7h8M18 7h2M15 4a3 3 0 1 0 0 6 3 3 0 1 0 0-6M4 17h2M12 17h8M9 14a3 3 0 1 0 0 6 3 3 0 1 0 0-6',
  plus: 'M12 5v14M5 12h14',
  list: 'M4 6h16M4 12h16M4 18h10',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
