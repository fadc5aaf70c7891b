import {describe, expect, it} from 'vitest'
import type {Conditions} from '../../../../src/experiments/bench/conditions-schema.js'
import {machineVerdictOf, turnSpread} from '../../../../src/experiments/bench/machine-verdict.js'
import {benchReport} from '../../../../src/experiments/bench/report.js'
import type {BenchResult} from '../../../../src/experiments/bench/schema.js'
import {renderTerminal} from '../../../../src/report/terminal.js'
import {machineVerdict} from '../../../../src/results/machine-verdict.js'
import {timed, timedInTurns} from '../../../helpers/records/bench.js'

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
const signsOf = (changes: Partial<Conditions>, result: Partial<BenchResult> = {}) =>
  machineVerdictOf([cell({}), cell(changes, result)])!.signs

describe('machineVerdictOf', () => {
  it('is quiet where nothing speaks against it', () => {
    const found = machineVerdictOf([cell({}), cell({load_before: 0.9, load_after: 1.4})])!
    expect(machineVerdict.parse(found)).toEqual(found)
    expect(found).toMatchObject({verdict: 'quiet', signs: [], load_before: 0.2, load_after: 1.4})
    expect(found.statement).toMatch(
      /^the machine was quiet: cells waited for a processor for up to 0 %; 0 % stolen by the host; load 0\.20 before, 1\.4 after; clock 3\.00 - 3\.10 GHz; turns \d %/,
    )
  })

  it('names each sign of a disturbance by itself', () => {
    expect(signsOf({steal_share: 0.021})).toEqual(['stolen'])
    expect(signsOf({lowest_mhz: 2800})).toEqual(['clock'])
    expect(signsOf({}, {waited_ns: 0.06 * 12e6})).toEqual(['waiting'])
    expect(signsOf({}, {waited_ns: null})).toEqual([])
    expect(machineVerdictOf([cell({load_before: 0.6}, {waited_ns: null})])!.signs).toEqual(['load'])
    expect(machineVerdictOf([cell({load_before: 0.6})])!.signs).toEqual([])
  })

  it('sees turns that were slow for all cells, and not those that were for one', () => {
    const slow = Array.from({length: 12}, (_, at) => (at % 4 === 0 ? 1.5e6 : 1e6))
    const shared = {samples_ns: slow, turn_runs: slow.map(() => 1)}
    const steady = {samples_ns: slow.map(() => 1e6), turn_runs: shared.turn_runs}
    expect(turnSpread([timed({}, 1, shared), timed({}, 1, shared)])).toBeCloseTo(0.5, 12)
    expect(turnSpread([timed({}, 1, shared), timed({}, 1, steady), timed({}, 1, steady)])).toBe(0)
    expect(turnSpread([timed()])).toBeNull()
    expect(machineVerdictOf([cell({}, shared)])!.signs).toEqual(['turns'])
  })

  it('is unknown where the system tells nothing, and absent of earlier records', () => {
    const nothing = {load_before: null, load_after: null, steal_share: null}
    const unknown = {...nothing, lowest_mhz: null, highest_mhz: null, unknown: 'load: none'}
    const found = machineVerdictOf([cell(unknown, {waited_ns: null, turn_runs: [12]})])!
    expect(found).toMatchObject({verdict: 'unknown', unknown: 'load: none'})
    expect(machineVerdictOf([timed()])).toBeUndefined()
  })

  it('stands below the tables, as a warning where it is one', () => {
    const text = (conditions: Partial<Conditions>) =>
      renderTerminal(benchReport([cell(conditions)]), {width: 400, colour: false})
    expect(text({})).toMatch(/^- the machine was quiet: /m)
    expect(text({steal_share: 0.5, unknown: 'clock: none'})).toMatch(
      /^- warning: the machine was disturbed: .*50 % stolen by the host.* \(unknown: clock: none\)$/m,
    )
  })
})
