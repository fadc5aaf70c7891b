import {describe, expect, it} from 'vitest'
import {useBackend} from '../../../../../src/backends/index.js'
import type {Breakdown} from '../../../../../src/experiments/bench/fields/breakdown.js'
import benchExperiment from '../../../../../src/experiments/bench/index.js'
import {PartTimer, type TimedPart} from '../../../../../src/experiments/bench/measure/breakdown.js'
import {runBenchCell} from '../../../../../src/experiments/bench/measure/cell.js'
import {mergeProcesses} from '../../../../../src/experiments/bench/measure/merge.js'
import {benchReport} from '../../../../../src/experiments/bench/report/report.js'
import {
  type BenchPlan,
  benchPlan,
  benchResult,
} from '../../../../../src/experiments/bench/schema.js'
import type {NextTurn, YieldTurn} from '../../../../../src/experiments/experiment.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {tf} from '../../../../../src/tf.js'
import {benchCells} from '../../../../helpers/cells.js'
import {bench, method} from '../../../../helpers/plans.js'
import {exactForm, timed} from '../../../../helpers/records/bench.js'

await useBackend('cpu')

/** A clock that parts move by what they are said to take. */
function timerOf(times: Record<string, number>) {
  let now = 0
  const parts = Object.keys(times).map(
    (part): TimedPart => ({
      part: part as TimedPart['part'],
      inWhole: part !== 'draw',
      run: () => {
        now += times[part]!
      },
    }),
  )
  return new PartTimer(parts, () => now)
}

const TIMES = {draw: 7e6, features: 1e6, contraction: 2e6, guard: 1e3}

describe('PartTimer', () => {
  const timer = timerOf(TIMES)
  for (let turn = 0; turn < 8; turn++) timer.takeTurn()
  const whole = {samples_ns: new Array<number>(16).fill(1.5e6), turn_runs: [2, 2, 2, 2, 2, 2, 2, 2]}
  const found = timer.result(whole)

  it('runs every part in every turn, for 5 ms or ten times, after a run that does not count', () => {
    const [draw, features, contraction, guard] = found.parts
    expect(found.parts.map(({part}) => part)).toEqual(Object.keys(TIMES))
    expect(draw!.turn_runs).toEqual(new Array(8).fill(1))
    expect(features!.turn_runs).toEqual(new Array(8).fill(5))
    expect(contraction!.turn_runs).toEqual(new Array(8).fill(3))
    expect(guard!.turn_runs).toEqual(new Array(8).fill(10))
    expect(features).toMatchObject({median_ns: 1e6, median_low_ns: null, median_high_ns: null})
  })

  it('sums what every forward has, over the whole and turn by turn', () => {
    expect(found.sum_over_whole).toMatchReference(3.001 / 1.5, 12)
    expect(found.parts[1]!.share).toMatchReference(1 / 1.5, 12)
    expect(found.parts[0]).toMatchObject({in_whole: false})
  })

  it('goes turn by turn: what is slow for a while is not in the shares', () => {
    const times = {...TIMES}
    const disturbed = timerOf(times)
    const slow = [1, 4, 1, 0.5, 9]
    for (const factor of slow) {
      times.features = factor * TIMES.features
      disturbed.takeTurn()
    }
    const samples_ns = slow.map(factor => factor * 2e6)
    const {parts} = disturbed.result({samples_ns, turn_runs: slow.map(() => 1)})
    expect(parts[1]!.share).toBe(0.5)
  })
})

/** Six turns of one run. */
const SHORT = {warmup_runs: 0, min_runs: 6, max_runs: 6, min_time_ns: 0}

describe('the breakdown of a cell', () => {
  async function brokenDown(
    changes: Partial<BenchPlan>,
    yieldTurn: YieldTurn = async () => 'alone',
  ): Promise<Breakdown> {
    const plan = benchPlan.parse(
      bench({breakdown: true, timing: SHORT, seq_lens: [13], ...changes}),
    )
    const [cell] = await benchCells(plan)
    const outcome = await runBenchCell(cell!, {yieldTurn})
    if (outcome.status !== 'completed') return expect.unreachable()
    const result = benchResult.parse(outcome.result)
    expect(result.peak_rss_over_baseline_bytes).toBeNull()
    for (const {samples_ns, turn_runs} of result.breakdown!.parts) {
      expect(turn_runs).toHaveLength(result.turn_runs.length)
      expect(samples_ns.every(time => time > 0)).toBe(true)
    }
    return result.breakdown!
  }
  const names = ({parts}: Breakdown) => parts.map(({part}) => part)

  it.each([
    ['elu', false, ['features', 'contraction', 'guard']],
    ['favor-pos', false, ['draw', 'features', 'contraction']],
    ['favor-pos', true, ['draw', 'features', 'contraction']],
    ['favor-trig', true, ['draw', 'features', 'contraction', 'guard']],
  ])('%s, causal: %s', async (name, causal, wanted) => {
    const before = tf.memory().numTensors
    const found = await brokenDown({methods: [method(name)], causal})
    expect(names(found)).toEqual(wanted)
    expect(found.parts.filter(({in_whole}) => !in_whole).map(({part}) => part)).toEqual(
      wanted.filter(part => part === 'draw'),
    )
    // queries, keys, values and the projection of the whole stay: their process ends with the cell
    expect(tf.memory().numTensors - before).toBeLessThanOrEqual(4)
  })

  it('has parts in each turn of an interrupted cell, and none before the first', async () => {
    const answers: NextTurn[] = ['after others', 'alone', 'alone', 'none']
    const {parts} = await brokenDown({methods: [method('elu')]}, async () => answers.shift()!)
    expect(parts[0]!.turn_runs).toHaveLength(3)
    expect(answers).toEqual([])
  })

  it('has drawing in the whole where each call draws', async () => {
    const {parts} = await brokenDown({methods: [method('favor-trig')], redraw: 'call'})
    expect(parts[0]).toMatchObject({part: 'draw', in_whole: true})
  })

  it('says why a method has no parts', async () => {
    expect(await brokenDown({methods: [method('softmax')]})).toMatchObject({
      parts: [],
      sum_over_whole: null,
      none: 'softmax is one whole: its attention is not that of features alone',
    })
  })
})

describe('the table of parts', () => {
  /** A process whose features take so many times as long as usual, and forwards 1.5 ms. */
  const processOf = (factor: number) => {
    const timer = timerOf({...TIMES, features: factor * TIMES.features})
    for (let turn = 0; turn < 8; turn++) timer.takeTurn()
    const samples_ns = new Array<number>(8).fill(1.5e6)
    const turn_runs = samples_ns.map(() => 1)
    return timed({}, 1, {samples_ns, turn_runs, breakdown: timer.result({samples_ns, turn_runs})})
  }
  const processes = [1, 1.1, 1 / 1.1].map(processOf)
  const result = mergeProcesses(processes.map(record => record.result))
  const none = {
    parts: [],
    sum_over_whole: null,
    sum_over_whole_low: null,
    sum_over_whole_high: null,
  }
  const softmax = exactForm('softmax', 128, 1e6)
  const rows = [
    {...processes[0]!, result},
    {...softmax, result: {...softmax.result, breakdown: {...none, none: 'softmax is whole'}}},
  ]

  it('holds their sum against the whole, and names those that have none', () => {
    const text = renderTerminal(benchReport(rows), {width: 200, colour: false})
    expect(text).toMatch(
      /^method +L +draw +features +contraction +guard +sum +whole +sum \/ whole$/m,
    )
    // logarithms of features log(1.1) apart: 1.1^(4.303 / sqrt(3)) = 1.267
    expect(text).toMatch(
      /^favor-pos orth M=64 +128 +7\.00 ms ±<1% +1\.00 ms ±27% +2\.00 ms ±<1% +1\.00 us ±<1% +3\.00 ms +1\.50 ms +2\.00x \[1\.85, 2\.17\]$/m,
    )
    expect(text).toContain('- no parts: softmax is whole')
    expect(renderTerminal(benchReport([timed()]), {width: 200, colour: false})).not.toContain(
      'Where the time goes',
    )
  })

  it('is a file of its own, without single times', () => {
    const table = benchExperiment.tables.find(({suffix}) => suffix === '_breakdown')!
    const columns = table.columns().map(({name}) => name)
    expect(columns).toEqual(expect.arrayContaining(['part', 'in_whole', 'median_ns', 'share']))
    expect(columns).not.toContain('samples_ns')
    expect(rows.flatMap(row => table.rows(row))).toHaveLength(4)
    expect(table.rows(timed())).toEqual([])
  })
})
