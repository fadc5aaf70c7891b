// Lines that say what is being done, and its progress.

const STEP = 0.25
let shown = 0

/** Prints a line on stdout. */
export function say(line) {
  say.end()
  process.stdout.write(`rfa: ${line}\n`)
}

/**
 * Prints which part of something is done: on one line of a terminal, or in quarters elsewhere.
 *
 * @param part - from 0 to 1
 */
say.progress = part => {
  const {isTTY} = process.stdout
  const step = isTTY ? 0.01 : STEP
  if (part < shown) shown = 0
  if (part < shown + step) return
  shown = Math.floor(part / step) * step
  const text = `     ${Math.round(shown * 100)} %`
  process.stdout.write(isTTY ? `\r${text}` : `${text}\n`)
}

/** Ends a line of progress. */
say.end = () => {
  if (shown > 0 && process.stdout.isTTY) process.stdout.write('\r\x1b[K')
  shown = 0
}
