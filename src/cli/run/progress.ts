/** Progress on stderr: a spinner on a terminal, plain lines at a slow pace elsewhere. */
import {printable} from '../../report/printable.js'
import type {ProgressEvent} from '../../runner/run-experiment.js'

/** Shows events until it is stopped. */
export interface Progress {
  /** Takes note of how far a run is. */
  update(event: ProgressEvent): void
  /** Lets something else be written on the same stream, out of the way of what is redrawn. */
  aside(write: () => void): void
  stop(): void
}

export interface ProgressOptions {
  stream: NodeJS.WriteStream
  quiet: boolean
  /** Milliseconds, any origin; default `performance.now`. */
  now?: () => number
}

/** Between two plain lines, in ms. */
const PLAIN_INTERVAL_MS = 10_000

/** One event as text, e.g. `0/12 cells, 41 %, ETA 10s, elu L=1024 (8.6x so far)`: cells that take turns end all at last. */
export function progressText(event: ProgressEvent): string {
  const {done, total, label, soFar, etaMs, share, rough, failed} = event
  const parts = [`${done}/${total} cells`]
  if (failed > 0) parts.push(`${failed} failed`)
  if (done < total) {
    parts.push(`${Math.floor(100 * share)} %`, `ETA ${rough ? 'about ' : ''}${duration(etaMs)}`)
    if (label) parts.push(soFar ? `${label} (${soFar})` : label)
  }
  return printable(parts.join(', '))
}

/** A waiting time as people say it: `8s`, `3m 10s`, `2h 05m`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${pad(seconds % 60)}s`
  return `${Math.floor(minutes / 60)}h ${pad(minutes % 60)}m`
}

/**
 * Starts showing progress.
 *
 * A spinner needs a terminal with a width: on one of 0 columns it would redraw for ever. It leaves
 * stdin alone, because taking it over would swallow Ctrl-C.
 */
export async function startProgress(options: ProgressOptions): Promise<Progress> {
  const {stream, quiet, now = () => performance.now()} = options
  if (quiet) return {update() {}, aside: write => write(), stop() {}}
  if (!stream.isTTY || !(stream.columns > 0)) return plainProgress(stream, now)
  const {default: ora} = await import('ora')
  const spinner = ora({stream, discardStdin: false, isEnabled: true, text: 'starting'}).start()
  return {
    update: event => {
      spinner.text = fitted(progressText(event), stream.columns)
    },
    aside: write => {
      spinner.clear()
      write()
      spinner.render()
    },
    stop: () => {
      spinner.stop()
    },
  }
}

/** For logs and pipes: a line at most every {@link PLAIN_INTERVAL_MS}, none for short runs. */
function plainProgress(stream: NodeJS.WriteStream, now: () => number): Progress {
  let last = now()
  return {
    update: event => {
      if (now() - last < PLAIN_INTERVAL_MS) return
      last = now()
      stream.write(`${progressText(event)}\n`)
    },
    aside: write => write(),
    stop() {},
  }
}

/** A line that wraps cannot be redrawn in place; the spinner itself takes two columns. */
function fitted(text: string, columns: number): string {
  const room = Math.max(1, columns - 3)
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`
}

/** Two digits. */
function pad(value: number): string {
  return String(value).padStart(2, '0')
}
