/** Times of all engines of a case, round by round, in an order that is drawn anew for each. */
import {setTimeout as pause} from 'node:timers/promises'
import type {Engine} from './engine.js'

/** How many rounds, and how long they may take together: the seconds count from the least on. */
export interface Effort {
  seconds: number
  least: number
  most: number
}

/** Runs of one engine in one round, and the seconds from which on it begins no other. */
const SAMPLES = 5
const ROUND_SECONDS = 0.2
/** A form that takes longer than its part of a round, and so many times the fastest, has one round: its place is settled. */
const FAR_BEHIND = 10
/** Threads that wait in a loop for their next work give up meanwhile, in ms. */
const QUIET_MS = 5

/** Nanoseconds of every run, and why engines were given up. */
export interface Outcome {
  times: Map<Engine, number[]>
  failed: {engine: string; form: string; reason: string}[]
}

/** Times engines in turn. @param random - in [0, 1). @param between - called before each round */
export async function inRounds(
  engines: readonly Engine[],
  {seconds, least, most}: Effort,
  {random, between}: {random: () => number; between(): void},
): Promise<Outcome> {
  const times = new Map(engines.map(engine => [engine, [] as number[]]))
  const failed: Outcome['failed'] = []
  const end = performance.now() + 1e3 * seconds
  for (let round = 0; round < most && (round < least || performance.now() < end); round++) {
    between()
    for (const engine of shuffled(round === 0 ? engines : contenders(times), random)) {
      await pause(QUIET_MS)
      try {
        times.get(engine)!.push(...(await engine.time(SAMPLES, ROUND_SECONDS)))
      } catch (error) {
        times.delete(engine)
        failed.push({engine: engine.engine, form: engine.form, reason: (error as Error).message})
      }
    }
  }
  return {times, failed}
}

/** Those that are worth more rounds. */
function contenders(times: ReadonlyMap<Engine, readonly number[]>): Engine[] {
  const best = Math.min(...[...times.values()].flat())
  const enough = Math.max(1e9 * ROUND_SECONDS, FAR_BEHIND * best)
  return [...times.keys()].filter(engine => Math.min(...times.get(engine)!) < enough)
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const rest = [...items]
  return items.map(() => rest.splice(Math.floor(random() * rest.length), 1)[0]!)
}
