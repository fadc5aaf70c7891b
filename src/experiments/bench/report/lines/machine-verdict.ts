/** Whether a machine was fit for timing, from all cells of a run. */
import {SETTLED_FACTOR} from '../../../../answers/index.js'
import {significant} from '../../../../report/numbers.js'
import type {MachineVerdict} from '../../../../results/findings.js'
import {median, quantile} from '../../../../stats/index.js'
import type {BenchRecord, TimedRecord} from '../../schema.js'
import {processMedians, turnMedians} from '../../times/processes.js'
import {waitingShare} from '../../times/time-estimates.js'

/** Fewest turns that have a slowest tenth. */
const LEAST_TURNS = 6

type Facts = Omit<MachineVerdict, 'verdict' | 'signs' | 'statement'>

/** @returns `undefined` for records of earlier versions, which say nothing of the machine */
export function machineVerdictOf(records: readonly BenchRecord[]): MachineVerdict | undefined {
  const rows = records.filter(record => record.status === 'completed')
  if (!rows.some(({result}) => result.conditions)) return undefined
  const facts = factsOf(rows)
  const signs = signsOf(facts)
  const told = facts.turn_spread !== null || facts.process_spread !== null
  const verdict = signs.length > 0 ? 'disturbed' : told ? 'quiet' : 'unknown'
  return {verdict, signs, statement: statementOf(verdict, facts), ...facts}
}

function factsOf(rows: readonly TimedRecord[]): Facts {
  const seen = rows.flatMap(({result}) => result.conditions ?? [])
  const of = (values: (number | null)[], pick: (...all: number[]) => number) => {
    const known = values.filter(value => value !== null)
    return known.length > 0 ? known.reduce((a, b) => pick(a, b)) : null
  }
  return {
    waiting_share: of(rows.map(waitingShare), Math.max),
    steal_share: of(
      seen.map(({steal_share}) => steal_share),
      Math.max,
    ),
    load_before: of(
      seen.map(({load_before}) => load_before),
      Math.min,
    ),
    load_after: of(
      seen.map(({load_after}) => load_after),
      Math.max,
    ),
    lowest_mhz: of(
      seen.map(({lowest_mhz}) => lowest_mhz),
      Math.min,
    ),
    highest_mhz: of(
      seen.map(({highest_mhz}) => highest_mhz),
      Math.max,
    ),
    turn_spread: turnSpread(rows),
    process_spread: processSpread(rows),
    unknown: seen.find(({unknown}) => unknown !== null)?.unknown ?? null,
  }
}

/** How much slower the slowest tenth of the turns was than the fastest, for most cells alike. */
export function turnSpread(rows: readonly TimedRecord[]): number | null {
  const relative = rows
    .map(({result}) => turnMedians(result))
    .filter(({length}) => length >= LEAST_TURNS)
  if (relative.length === 0) return null
  const shares = relative.map(times => times.map(time => time / median(times)))
  const turns = Math.min(...shares.map(({length}) => length))
  const common = Array.from({length: turns}, (_, turn) => median(shares.map(own => own[turn]!)))
  return quantile(common, 0.9) / quantile(common, 0.1) - 1
}

/** How much slower the slowest process of a cell was than the fastest, for most cells alike. */
function processSpread(rows: readonly TimedRecord[]): number | null {
  const spreads = rows.flatMap(({result}) => {
    const medians = processMedians(result)
    return medians.length < 2 ? [] : [Math.max(...medians) / Math.min(...medians) - 1]
  })
  return spreads.length > 0 ? median(spreads) : null
}

/** What others, a host or a clock did counts where times show it. */
function signsOf({turn_spread, process_spread}: Facts): MachineVerdict['signs'] {
  const found = {
    turns: (turn_spread ?? 0) > SETTLED_FACTOR - 1,
    processes: (process_spread ?? 0) > SETTLED_FACTOR - 1,
  }
  return (Object.keys(found) as (keyof typeof found)[]).filter(sign => found[sign])
}

/** Waiting for a processor, and time that a host took, from which on times suffer: shares. */
const BUSY = 0.1

/** What a disturbed machine did, and what helps. */
export function busyText(facts: MachineVerdict): string {
  const {waiting_share, steal_share, process_spread, turn_spread} = facts
  if ((waiting_share ?? 0) > BUSY) {
    return `the machine was busy (cells waited up to ${percent(waiting_share!)} of the time for a processor): repeat when it is quiet`
  }
  if ((steal_share ?? 0) > BUSY) {
    return `the host gave up to ${percent(steal_share!)} of the processor time to other machines: repeat later`
  }
  const [processes, turns] = [process_spread ?? 0, turn_spread ?? 0]
  const [what, spread] = processes > turns ? ['processes', processes] : ['turns', turns]
  return `times of the same cell differ by ${percent(spread)} between ${what}: repeat, or use more --processes`
}

const percent = (share: number) => `${Math.round(100 * share)} %`

function statementOf(verdict: MachineVerdict['verdict'], facts: Facts): string {
  const {waiting_share, steal_share, load_before, load_after, lowest_mhz, highest_mhz} = facts
  const clocks = [lowest_mhz, highest_mhz].map(mhz => significant((mhz ?? 0) / 1000))
  const told = [
    facts.turn_spread !== null &&
      `turns ${percent(facts.turn_spread)} apart (slowest tenth over fastest)`,
    facts.process_spread !== null &&
      `processes ${percent(facts.process_spread)} apart (slowest over fastest)`,
    waiting_share !== null && `cells waited for a processor for up to ${percent(waiting_share)}`,
    steal_share !== null && `${percent(steal_share)} stolen by the host`,
    load_before !== null &&
      `load ${significant(load_before, 2)} before, ${significant(load_after, 2)} after`,
    lowest_mhz !== null && `clock ${[...new Set(clocks)].join(' - ')} GHz`,
  ].filter(part => part !== false)
  const found =
    verdict === 'unknown'
      ? 'one process with few turns does not tell whether the machine was disturbed'
      : `the machine was ${verdict}`
  return told.length > 0 ? `${found}: ${told.join('; ')}` : found
}
