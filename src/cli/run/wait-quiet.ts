/** Waiting until other programs leave the processors alone. */
import {cpus} from 'node:os'
import {setTimeout as wait} from 'node:timers/promises'
import {significant} from '../../report/numbers.js'

/** Time of all processors together since some moment, in ms. */
interface ProcessorTime {
  busy: number
  all: number
}

/** What is looked at; tests bring their own. */
export interface Processors {
  count: number
  now(): ProcessorTime
  sleep(ms: number): Promise<unknown>
}

/** What programs use of the processors. */
export interface Use {
  /** Processors in use, such as 1.8. */
  busy: number
  count: number
}

/** Between two looks, and how many of them in a row have to be quiet. */
const [LOOK_MS, LOOKS] = [1000, 3]
/** Share of the processors that a quiet machine uses at most: services of the system do. */
const QUIET = 0.05

/**
 * Waits until less than 5 % of the processors are in use for three seconds. What a host gives to other machines is not seen.
 *
 * @param limitMs - waits no longer than that, and goes by the last second then
 * @param onBusy - told once, where the machine is not quiet at first
 * @returns `undefined` once it is quiet; else what was in use at last
 */
export async function waitUntilQuiet(
  limitMs: number,
  onBusy: (use: Use) => void,
  {count, now, sleep}: Processors = machine(),
): Promise<Use | undefined> {
  let [quiet, told] = [0, false]
  for (let waited = LOOK_MS; ; waited += LOOK_MS) {
    const before = now()
    await sleep(LOOK_MS)
    const after = now()
    const share = (after.busy - before.busy) / Math.max(1, after.all - before.all)
    quiet = share <= QUIET ? quiet + 1 : 0
    if (quiet === LOOKS) return undefined
    const use = {busy: share * count, count}
    if (waited >= limitMs) return quiet > 0 ? undefined : use
    if (quiet === 0 && !told) onBusy(use)
    told ||= quiet === 0
  }
}

/** `other programs use 1.8 of 2 processors`. */
export function useText({busy, count}: Use): string {
  return `other programs use ${significant(busy, 2)} of ${count} processors`
}

function machine(): Processors {
  const now = () => {
    const times = cpus().map(({times: {user, nice, sys, irq, idle}}) => {
      const busy = user + nice + sys + irq
      return {busy, all: busy + idle}
    })
    const sum = (name: keyof ProcessorTime) => times.reduce((total, own) => total + own[name], 0)
    return {busy: sum('busy'), all: sum('all')}
  }
  return {count: cpus().length, now, sleep: ms => wait(ms)}
}
