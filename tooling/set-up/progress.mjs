/** Shows on standard error that a long task is still running, so that standard output stays clean. */
import { stderr } from 'node:process';

/**
 * @param {string} task the task, as the start of a sentence
 * @param {() => void} onTick called every second
 */
export function showProgress(task, onTick) {
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 1000);
  const draw = () => stderr.write(`\r${task} … ${seconds()} s`);

  if (stderr.isTTY) draw();
  else console.error(`${task} …`);
  let ticks = 0;
  const timer = setInterval(() => {
    onTick();
    ticks += 1;
    if (stderr.isTTY) draw();
    // In a log, print a line now and then to show that nothing hangs.
    else if (ticks % 15 === 0) console.error(`  still running after ${seconds()} s`);
  }, 1000);

  const stop = () => clearInterval(timer);
  return {
    stop,
    /** Replaces the progress line by the outcome. */
    end(/** @type {string} */ outcome) {
      stop();
      if (stderr.isTTY) stderr.write('\r\x1b[2K');
      console.error(`${outcome} after ${seconds()} s.`);
    },
  };
}
