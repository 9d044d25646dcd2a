import { catalogue, describeTool } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { complete, insertOption } from './completion.ts';

const tools = catalogue.map((tool) => describeTool(tool));
const at = (text: string) => complete(text, text.length, tools);
const labels = (text: string) => at(text)?.options.map(({ label }) => label);

describe('[AG-1] completion of typed calls', () => {
  it('offers tools after a slash, those that begin so first', () => {
    expect(labels('/read')).toEqual(['/read_file']);
    expect(labels('/file')).toContain('/read_file');
    expect(labels('/git_d')).toEqual(['/git_diff']);
    expect(labels('/')).toContain('/run');
    expect(labels('/status')?.[0]).toBe('/git_status');
  });

  it('offers nothing for plain words, whole names, JSON and unclosed quotes', () => {
    for (const text of [
      'read',
      'please /read',
      '/git_status',
      '/read_file {"pa',
      '/write_file path="a ',
      '/nothing ',
    ]) {
      expect(at(text)).toBeNull();
    }
  });

  it('offers parameters that are not there yet, required ones first', () => {
    expect(at('/read_file ')).toMatchObject({ kind: 'parameter', from: 11, to: 11 });
    expect(labels('/read_file ')).toEqual([
      'path=',
      'start_line=',
      'end_line=',
      'offset=',
      'length=',
      'encoding=',
    ]);
    expect(labels('/read_file path=a.md e')).toEqual(['end_line=', 'encoding=']);
    expect(at('/read_file ')?.options[0]).toMatchObject({ isRequired: true });
  });

  it('offers values that are listed', () => {
    expect(labels('/write_file path=a mode=a')).toEqual(['append']);
    expect(labels('/list_directory path=. recursive=')).toEqual(['true', 'false']);
    expect(at('/read_file path=a')).toBeNull();
    expect(at('/read_file nothing=a')).toBeNull();
  });

  it('completes the line at the caret', () => {
    const text = '/git_status\n/read\n/run npm test';
    const completion = complete(text, 17, tools);
    expect(completion).toMatchObject({ from: 12, to: 17 });
    const option = completion?.options[0];
    if (!completion || !option) throw new Error('nothing offered');
    expect(insertOption(text, completion, option)).toEqual({
      text: '/git_status\n/read_file \n/run npm test',
      caret: 23,
    });
  });
});
