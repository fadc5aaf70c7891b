import {describe, expect, it} from 'vitest'
import type {Conditions} from '../../../../../../src/experiments/bench/fields/conditions.js'
import {
  machineVerdictOf,
  turnSpread,
} from '../../../../../../src/experiments/bench/report/lines/machine-verdict.js'
import {benchReport} from '../../../../../../src/experiments/bench/report/report.js'
import type {BenchResult, TimedRecord} from '../../../../../../src/experiments/bench/schema.js'
import {renderTerminal} from '../../../../../../src/report/terminal.js'
import {machineVerdict} from '../../../../../../src/results/findings.js'
import {inProcesses, oneProcess, timed, timedInTurns} from '../../../../../helpers/records/bench.js'

const CALM: Conditions = {
  load_before: 0.2,
  load_after: 1.1,
  steal_share: 0,
  lowest_mhz: 3000,
  highest_mhz: 3100,
  unknown: null,
}
const cell = (changes: Partial<Conditions>, result: Partial<BenchResult> = {}) =>
  timedInTurns({}, 1e6, {conditions: {...CALM, ...changes}, ...result})
/** A cell of processes that have these medians. */
const apart = (...medians: number[]) => timed({}, 1, {...inProcesses(medians), conditions: CALM})

describe('machineVerdictOf', () => {
  it('is quiet where nothing speaks against it', () => {
    const found = machineVerdictOf([cell({}), cell({load_before: 0.9, load_after: 1.4})])!
    expect(machineVerdict.parse(found)).toEqual(found)
    expect(found).toMatchObject({verdict: 'quiet', signs: [], load_before: 0.2, load_after: 1.4})
    expect(found.statement).toMatch(
      /^the machine was quiet: turns \d % apart \(slowest tenth over fastest\); processes \d % apart \(slowest over fastest\); cells waited for a processor for up to 0 %; 0 % stolen by the host; load 0\.20 before, 1\.4 after; clock 3\.00 - 3\.10 GHz$/,
    )
  })

  it('tells of load, stolen time, waiting and clocks, which alone are no disturbance', () => {
    const busy = {load_before: 3, load_after: 4, steal_share: 0.5, lowest_mhz: 1000}
    const found = machineVerdictOf([cell({}), cell(busy, {waited_ns: 0.5 * 12e6})])!
    expect(found).toMatchObject({verdict: 'quiet', signs: [], load_before: 0.2, load_after: 4})
    expect(found).toMatchObject({steal_share: 0.5, lowest_mhz: 1000})
    expect(found.waiting_share).toMatchReference(0.5, 2)
    expect(found.statement).toContain('cells waited for a processor for up to 50 %; 50 % stolen')
    expect(machineVerdictOf([cell({}, {waited_ns: null})])!.waiting_share).toBeNull()
  })

  it('sees turns that were slow for all cells, and not those that were for one', () => {
    const slow = Array.from({length: 12}, (_, at) => (at % 4 === 0 ? 1.5e6 : 1e6))
    const turns = {turn_runs: slow.map(() => 1), process_turns: [4, 4, 4]}
    const shared = {samples_ns: slow, ...turns}
    const steady = {samples_ns: slow.map(() => 1e6), ...turns}
    expect(turnSpread([timed({}, 1, shared), timed({}, 1, shared)])).toMatchReference(0.5, 12)
    expect(turnSpread([timed({}, 1, shared), timed({}, 1, steady), timed({}, 1, steady)])).toBe(0)
    expect(turnSpread([timed()])).toBeNull()
    expect(machineVerdictOf([cell({}, shared)])).toMatchObject({
      ...{verdict: 'disturbed', signs: ['turns'], process_spread: 0},
    })
  })

  it('sees processes that differ in most cells, and not those that do in one', () => {
    const [far, near] = [apart(1e6, 1.3e6, 1.1e6), apart(1e6, 1.2e6, 1.1e6)]
    const found = machineVerdictOf([far, far, near])!
    expect(found).toMatchObject({verdict: 'disturbed', signs: ['processes'], turn_spread: null})
    expect(found.process_spread).toMatchReference(0.3, 12)
    expect(found.statement).toMatch(/^the machine was disturbed: processes 30 % apart/)
    expect(machineVerdictOf([far, near, near])).toMatchObject({verdict: 'quiet', signs: []})
  })

  it('is unknown of one process with few turns, and absent of earlier records', () => {
    const once = timed({}, 1, {...oneProcess([1e6, 1e6]), conditions: CALM, waited_ns: null})
    const found = machineVerdictOf([once])!
    expect(found).toMatchObject({verdict: 'unknown', turn_spread: null, process_spread: null})
    expect(found.statement).toMatch(
      /^one process with few turns does not tell whether .*: 0 % stol/,
    )
    const nothing = {load_before: null, load_after: null, steal_share: null}
    const conditions = {...nothing, lowest_mhz: null, highest_mhz: null, unknown: 'load: none'}
    const unwatched = {...once, result: {...once.result, conditions}}
    expect(machineVerdictOf([unwatched])!.statement).toMatch(/was disturbed$/)
    expect(machineVerdictOf([timed()])).toBeUndefined()
  })

  it('stands below the tables, as a warning where it is one', () => {
    const text = (record: TimedRecord) =>
      renderTerminal(benchReport([record]), {width: 400, colour: false})
    expect(text(cell({}))).toMatch(/^- the machine was quiet: /m)
    const {result, ...far} = apart(1e6, 1.5e6, 1.1e6)
    const conditions = {...CALM, steal_share: 0.5, unknown: 'clock: none'}
    expect(text({...far, result: {...result, conditions}})).toMatch(
      /^- warning: the machine was disturbed: processes 50 % apart.*50 % stolen by the host.* \(unknown: clock: none\)$/m,
    )
  })
})
