import { type Approval, shownDigest } from '@countersign/protocol';

const digestOf = (character: string): string => `sha256:${character.repeat(64)}`;

/** An approval as the server sends it. By default it is MEDIUM and has a preview. */
export function approval(over: Partial<Approval> = {}): Approval {
  const id = over.approval_id ?? 'approval-1';
  return withShownDigest({
    approval_id: id,
    tool_id: `tool-of-${id}`,
    tool_call_id: 'call_0',
    project_id: 'project-1',
    session_id: 'session-1',
    agent: 'Agent',
    tool_name: 'write_file',
    description: 'Agent wants to change config.json',
    tool_params: { path: 'config.json', content: '{"port": 8080}\n' },
    risk_level: 'MEDIUM',
    reasons: [{ rule: 'WRITE-2', why: 'changes a source or document file', operand: 'config.json' }],
    network: false,
    status: 'pending',
    revision: 1,
    timeout_seconds: 300,
    remaining_ms: 300_000,
    expires_at: '2026-11-15T12:05:00Z',
    runner_id: 'runner-1',
    preview: {
      kind: 'diff',
      files: [
        {
          path: 'config.json',
          operation: 'modified',
          diff: '--- a\n+++ b\n@@ -1 +1 @@\n-{"port": 3000}\n+{"port": 8080}\n\\ No newline at end of file\n',
          truncated: false,
          size_before: 15,
          size_after: 15,
        },
      ],
    },
    digest: digestOf('a'),
    digest_base: null,
    offered_scopes: [
      {
        scope: 'class',
        pattern: 'src/**',
        label: 'Changes under src/ in this session',
        warning: null,
        max_risk: 'MEDIUM',
        rules: [
          {
            id: 'to-be-granted',
            effect: 'allow',
            tool: '{write_file,edit_file,create_directory,copy_file}',
            path: 'src/**',
            max_risk: 'MEDIUM',
          },
        ],
      },
      {
        scope: 'session',
        pattern: null,
        label: 'Everything in this session',
        warning: 'You are not asked again.',
        max_risk: 'MEDIUM',
        rules: [{ id: 'to-be-granted', effect: 'allow', tool: '*', max_risk: 'MEDIUM' }],
      },
    ],
    context: { message_id: null, run_id: 'run-1', step: 0, excerpt: 'Please raise the port.' },
    created_at: '2026-11-15T12:00:00Z',
    ...over,
  });
}

/** Computes the digest of the card. A digest that the test gave is used as the runner's `digest_base`. */
function withShownDigest(card: Approval): Approval {
  const { preview, digest } = card;
  const digest_base = card.digest_base ?? digest;
  if (preview === null || digest_base === null) return { ...card, digest_base };
  return { ...card, digest_base, digest: shownDigest({ ...card, preview, digest_base }) };
}

export { digestOf };
