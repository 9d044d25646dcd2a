/** Shows a person that something takes long and still moves, on standard error so that output stays clean. */
import { stderr } from 'node:process';

/**
 * @param {string} task what is being done, as the start of a sentence
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
    // In a log, a line now and then shows that nothing hangs.
    else if (ticks % 15 === 0) console.error(`  still at it after ${seconds()} s`);
  }, 1000);

  const stop = () => clearInterval(timer);
  return {
    stop,
    /** Replaces the moving line by how it ended. */
    end(/** @type {string} */ outcome) {
      stop();
      if (stderr.isTTY) stderr.write('\r\x1b[2K');
      console.error(`${outcome} after ${seconds()} s.`);
    },
  };
}
