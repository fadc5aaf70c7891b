import {describe, expect, it} from 'vitest'
import {advise, shapeOf} from '../../../src/advice/advise.js'
import type {AdviceRequest} from '../../../src/advice/plans.js'
import {adviceFacts} from '../../../src/advice/schema.js'
import type {Counted} from '../../../src/advice/times.js'
import type {CompletedSweep, ErrorSweepResult} from '../../../src/experiments/error-sweep/schema.js'
import {exactForm, inProcesses, oneProcess, timed} from '../../helpers/records/bench.js'
import {metric, STATISTICS, sweep, type WholeSweep} from '../../helpers/records/error-sweep.js'
import {failed, skipped} from '../../helpers/records/outcomes.js'

const INPUT: AdviceRequest['input'] = {
  kind: 'file',
  paths: ['qkv.npz'],
  names: {query: 'q', key: 'k', value: 'v'},
}
const REQUEST: AdviceRequest = {
  input: INPUT,
  causal: true,
  metric: 'rel_l2',
  tolerance: 0.05,
  budgetMs: null,
  seqLen: 4096,
  methods: ['favor-pos'],
  numFeatures: [64],
  effort: 'quick',
  seed: 0,
  threads: null,
}
const counted: Counted = {
  flops: ({num_features}, length) =>
    num_features === null ? length ** 2 : 4 * num_features * length,
  bytes: ({num_features}, length) => (num_features === null ? 4 * length ** 2 : 4 * length),
}

/** rel_l2 of averaging V, with outputs of norm 1. */
const MEAN = 0.9

interface Changes extends Partial<ErrorSweepResult> {
  cell?: Partial<CompletedSweep['cell']>
  mean?: number
}

/** A cell with an error over all heads and in each of them that ten draws know within 1 %. */
function erring(
  all: number,
  heads: readonly number[],
  {cell, mean = MEAN, ...result}: Changes = {},
): WholeSweep {
  const about = (value: number) => metric(value, 0.99 * value, 1.01 * value)
  const squares = (error: number) =>
    [0.98, 0.985, 0.99, 0.995, 1, 1, 1.005, 1.01, 1.015, 1.02].map(x => x * error ** 2)
  const [model] = sweep().result.per_head
  const kept = {mse: squares(all), head_mse: heads.map(squares)}
  return sweep(
    {replicates: 10, ...cell},
    {
      heads: heads.length,
      rel_l2: about(all),
      mse: about(all ** 2),
      mean_value_mse: mean ** 2,
      mse_over_mean_value: (all / mean) ** 2,
      per_head: heads.map((error, head) => ({
        ...model!,
        ...{head, rel_l2: error, mse: error ** 2, mse_over_mean_value: (error / mean) ** 2},
      })),
      replicate_metrics: kept as unknown as ErrorSweepResult['replicate_metrics'],
      ...result,
    },
  )
}

/** The same of a method without draws. */
function certain(method: string, error: number, changes: Changes = {}): WholeSweep {
  const cell = {method, projection: null, num_features: null, replicates: 1}
  const {result, ...record} = erring(error, [error, error], {
    mse_standard_error: 0,
    ...changes,
    cell,
  })
  const {mse} = result
  const kept = {mse: [mse.median], head_mse: result.per_head.map(head => [head.mse])}
  const replicate_metrics = kept as unknown as ErrorSweepResult['replicate_metrics']
  return {...record, result: {...result, feature_dim: 16, replicate_metrics}} as WholeSweep
}
const scaled = (scale: number) => ({cell: {scale}})

const time = [1024, 4096].flatMap(length => [
  exactForm('softmax', length, 10 * length ** 2),
  exactForm('elu', length, 10 * 128 * length),
  exactForm('mean-value', length, 10 * 64 * length),
  timed({seq_len: length}, 10 * 256 * length),
])
const adviceOn = (error: CompletedSweep[], request: Partial<AdviceRequest> = {}, bench = time) => {
  const advice = advise({...REQUEST, ...request}, {error, time: bench}, counted)
  const saved = JSON.parse(JSON.stringify(advice))
  // folders of before do not say whether the model ran with a causal mask
  const {ran_causal: _, ...before} = saved
  for (const facts of [saved, before]) expect(adviceFacts.safeParse(facts).success).toBe(true)
  return advice.layers[0]!
}

/** That of the records: proposals of other lengths are others. */
const OWN_LENGTH = sweep().result.query_len

describe('advise', () => {
  it('takes what is accurate and faster', () => {
    const layer = adviceOn([erring(0.04, [0.03, 0.045])])
    expect(layer).toMatchObject({candidate: 'favor-pos orth M=64', obstacle: null, changes: []})
    expect(layer.statement).toMatch(
      /^Take favor-pos orth M=64: 4 % \[3.96, 4.04\] off, 16.0x \[.*\] as fast as softmax at L=4096\.$/,
    )
    expect(layer.candidates[0]!.over_mean).toMatchReference(0.04 / MEAN, 3)
    expect(layer.candidates[0]).toMatchObject({on_front: true, time_from: 'measured'})
    expect(layer.heads.map(({candidate}) => candidate)).toEqual(
      Array(2).fill('favor-pos orth M=64'),
    )
  })

  it('replaces the heads that can be, with their share of the time', () => {
    const layer = adviceOn([erring(0.2, [0.03, 0.3])])
    expect(layer).toMatchObject({candidate: null, obstacle: 'error'})
    expect(layer.heads.map(({candidate}) => candidate)).toEqual(['favor-pos orth M=64', null])
    expect(layer.mixed).toMatchObject({replaced_heads: [0]})
    // half of the time is exact attention, the other half takes a sixteenth
    expect(layer.mixed!.gain).toMatchReference(2 / (1 + 1 / 16), 12)
  })

  it('says what would change it: M, length, tolerance, norms', () => {
    const layer = adviceOn([
      erring(0.2, [0.2, 0.2], {num_features_for_5_percent: 65_536}),
      erring(0.03, [0.03, 0.03], scaled(0.5)),
      erring(0.01, [0.01, 0.01], scaled(0.25)),
    ])
    const found = layer.changes.map(({kind, candidate, value}) => [kind, candidate, value])
    expect(found).toEqual([
      ['features', 'favor-pos', 65_536],
      ['length', 'favor-pos M=66,000', expect.closeTo(4 * 65_536, -4)],
      ['tolerance', 'favor-pos orth M=64', expect.closeTo(0.202, 12)],
      ['norms', 'favor-pos orth M=64', 0.5],
    ])
    expect(layer.changes[0]!.statement).toMatch(
      /^About favor-pos M=66,000 would reach 5 % \(predicted\), 0.0156x \[.*\] as fast as exact attention at L=4096 \(predicted\)\.$/,
    )
    // error 0.2 at M=64 to 0.05 at 65,536 is M^(-1/5): 0.1 takes 64 * 2^5
    const looser = adviceOn([erring(0.2, [0.2, 0.2], {num_features_for_5_percent: 65_536})], {
      tolerance: 0.1,
    })
    expect(looser.changes[0]).toMatchObject({kind: 'features', value: 2048})
    expect(looser.changes[0]!.statement).toContain('would reach 10 %')
  })

  it('says so where nothing would change it', () => {
    const broken = {means_unknown: 'sign_changes'} as const
    const layer = adviceOn([erring(0.01, [0.01, 0.01], broken)])
    expect(layer).toMatchObject({candidate: null, obstacle: 'error', mixed: null})
    expect(layer.candidates[0]).toMatchObject({unfit: 'sign_changes'})
    expect(layer.changes.map(({candidate, value}) => [candidate, value])).toEqual(
      Array(3).fill([null, null]),
    )
  })

  it('names no M where predictions are uncertain, and says why', () => {
    const layer = adviceOn([erring(0.2, [0.2, 0.2], {prediction_unknown: 'uncertain'})])
    expect(layer.changes[0]).toEqual({
      ...{kind: 'features', candidate: null, value: null, ruled_out: null},
      statement:
        'The M that would reach 5 % is not predicted here: two seeds differ by more than 15 %, or errors rise with M.',
    })
  })

  it('carries proposals no further than predictions go', () => {
    const needing = {feature_dim: 0, num_features_for_5_percent: 400, predicted_rel_l2: 0.2}
    const features = (tolerance: number) =>
      adviceOn([erring(0.2, [0.2, 0.2], needing)], {tolerance, seqLen: OWN_LENGTH}).changes[0]
    expect(features(0.05)).toMatchObject({kind: 'features', value: 400})
    expect(features(0.02)).toMatchObject({
      ...{kind: 'features', candidate: null, ruled_out: null},
      statement: 'The M that would reach 2 % is not predicted here.',
    })
    const never = {feature_dim: 0, prediction_unknown: 'tokens', predicted_rel_l2: 0.2} as const
    const layer = adviceOn([erring(0.2, [0.2, 0.2], never)], {seqLen: OWN_LENGTH})
    expect(layer.changes[0]!.statement).toBe(
      'The M that would reach 5 % is not predicted here: there are no more proposals than tokens.',
    )
  })

  it('does not say what is faster where the machine was too busy', () => {
    const waited_ns = (samples: readonly number[]) => samples.reduce((sum, x) => sum + x, 0) / 2
    const busy = time.map(row => {
      const {result} = row
      return {...row, result: {...result, threads: 2, waited_ns: waited_ns(result.samples_ns)}}
    })
    const layer = adviceOn([erring(0.04, [0.04, 0.04])], {seqLen: 256}, busy)
    expect(layer).toMatchObject({candidate: null, obstacle: 'time'})
    expect(layer.statement).toMatch(
      /favor-pos orth M=64 is within 5 % and not timed at L=256: the machine was too busy\.$/,
    )
  })

  it('tells what is too slow from what is over the budget', () => {
    const accurate = [erring(0.04, [0.04, 0.04])]
    const short = adviceOn(accurate, {seqLen: 256})
    expect(short).toMatchObject({candidate: null, obstacle: 'time'})
    expect(short.changes.map(({kind}) => kind)).toEqual(['length', 'tolerance'])
    expect(short.statement).toMatch(
      /favor-pos orth M=64 is within 5 % and not measurably faster at L=256: 0\.\d+-1\.\d+x as fast \(unsettled\)\.$/,
    )
    const late = adviceOn(accurate, {budgetMs: 1})
    expect(late).toMatchObject({candidate: null, obstacle: 'budget'})
    expect(late.statement).toMatch(/over the budget of 1.00 ms: it takes 10.5 ms \[/)
    expect(late.statement).toContain('Exact attention takes longer than the budget, too.')
    expect(late.heads[0]!.candidate).toBe('favor-pos orth M=64')
  })

  it('holds mse against the tolerance, without a prediction of M', () => {
    const layer = adviceOn([erring(0.2, [0.2, 0.2])], {metric: 'mse', tolerance: 0.0001})
    expect(layer.changes.map(({kind}) => kind)).toEqual(['length', 'tolerance'])
  })

  it('takes averaging V before what is worse than that', () => {
    const mean = 0.024
    const error = [certain('elu', 0.032, {mean}), certain('mean-value', mean, {mean})]
    const layer = adviceOn(error)
    expect(layer).toMatchObject({candidate: 'mean-value', obstacle: null})
    expect(layer.statement).toMatch(/^Take mean-value \(averaging V\): 2.4 % off, /)
    expect(layer.candidates.map(({label, on_front}) => [label, on_front])).toEqual([
      ['elu', false],
      ['mean-value', true],
    ])
    expect(layer.heads.map(({candidate}) => candidate)).toEqual(['mean-value', 'mean-value'])
  })

  it('keeps exact attention where all that is accurate is not distinguishable from averaging V', () => {
    // averaging V is a little above the tolerance, what was drawn a little below
    const layer = adviceOn([erring(0.0499, [0.0499, 0.0499], {mean: 0.0503})], {tolerance: 0.051})
    expect(layer).toMatchObject({candidate: null, obstacle: 'mean'})
    expect(layer.statement).toContain('is not distinguishable from averaging V.')
  })

  it('says first that attention is nearly uniform', () => {
    const near = {...STATISTICS, entropy_nats: STATISTICS.max_entropy_nats - 0.004}
    const uniform = (record: WholeSweep, heads: readonly number[]) => ({
      ...record,
      result: {
        ...record.result,
        per_head: record.result.per_head.map((own, head) =>
          heads.includes(head) ? {...own, statistics: near} : own,
        ),
      },
    })
    const mean = certain('mean-value', 0.024, {mean: 0.024})
    const layer = adviceOn([uniform(mean, [0, 1])])
    expect(layer.uniform_heads).toEqual([0, 1])
    expect(layer.statement).toMatch(
      /^Attention is nearly uniform here: averaging V is 2.4 % off\. Take mean-value/,
    )
    const some = adviceOn([uniform(mean, [1])])
    expect(some.uniform_heads).toEqual([1])
    expect(some.statement).toMatch(/^Take mean-value/)
  })

  it('never carries the error of landmarks or windows to another length', () => {
    const record = erring(0.001, [0.001, 0.001], {feature_dim: 0})
    const far = adviceOn([record])
    expect(far).toMatchObject({candidate: null, obstacle: 'error', mixed: null})
    expect(far.candidates[0]).toMatchObject({unfit: 'other_length', on_front: false})
    const near = adviceOn([{...record, result: {...record.result, query_len: 4096}}])
    expect(near.candidate).toBe('favor-pos orth M=64')
  })

  it.each([
    [0.05, 'Predicted for favor-pos: no M up to 16 million reaches 5 %.'],
    [0.02, 'Predicted for favor-pos: no M up to 16 million reaches 2 %.'],
    [0.2, 'The M that would reach 20 % is not predicted here.'],
  ])('speaks of the tolerance that was asked for, %d, and of no other one', (tolerance, said) => {
    const [change] = adviceOn([erring(0.8, [0.8, 0.8], {predicted_rel_l2: 0.8})], {
      tolerance,
    }).changes
    expect(change!.statement).toBe(said)
  })

  it('knows no M where the prediction is withheld, as at large norms', () => {
    const {changes} = adviceOn([erring(0.8, [0.8, 0.8], {predicted_rel_l2: null})])
    expect(changes[0]!.statement).toBe('The M that would reach 5 % is not predicted here.')
  })

  it('names a looser tolerance that is met when it is typed', () => {
    const {changes} = adviceOn([erring(0.20041, [0.2, 0.2])])
    const {value, statement} = changes.find(({kind}) => kind === 'tolerance')!
    expect(statement).toBe('With a tolerance of 20.3 %, favor-pos orth M=64 would qualify.')
    const typed = adviceOn([erring(0.20041, [0.2, 0.2])], {tolerance: value!})
    expect(typed.candidate).toBe('favor-pos orth M=64')
  })

  it('offers no tolerance that loses more than half of the output', () => {
    const looser = (tolerance: number) =>
      adviceOn([erring(0.7, [0.7, 0.7])], {tolerance}).changes.find(
        ({kind}) => kind === 'tolerance',
      )!
    expect(looser(0.05)).toMatchObject({value: null, ruled_out: 'tolerance up to 50 %'})
    expect(looser(0.6).candidate).toBe('favor-pos orth M=64')
  })

  it('has no single number for a speed-up that is hardly known', () => {
    const rough = [1024, 4096].flatMap(length => [
      exactForm('softmax', length, 10 * length ** 2),
      timed({seq_len: length}, 1, inProcesses([0.3, 1, 1.5].map(x => x * 2560 * length))),
    ])
    const {statement, candidates} = adviceOn([erring(0.04, [0.04, 0.04])], {}, rough)
    const {gain_low, gain_high} = candidates[0]!
    expect(gain_high! / gain_low!).toBeGreaterThan(10)
    expect(statement).toMatch(/ off, \d\.\d+-\d+x as fast as softmax at L=4096 \(unsettled\)/)
  })

  it('tells times of one process without the ends that they do not have', () => {
    const once = time.map(({cell, result}) => timed(cell, 1, oneProcess([result.median_ns])))
    const {statement} = adviceOn([erring(0.04, [0.04, 0.04])], {}, once)
    expect(statement).toContain('not measurably faster at L=4096: about 16.0x as fast (unsettled)')
    const short = adviceOn([erring(0.04, [0.04, 0.04])], {seqLen: 256}, once)
    expect(short.changes[0]!.statement).toMatch(/would be faster from L=about \d+ on, /)
  })

  it.each([1, 32])('advises on %d heads', count => {
    const heads = Array.from({length: count}, (_, head) => (head % 2 === 0 ? 0.03 : 0.3))
    const {mixed, ...layer} = adviceOn([erring(0.2, heads)])
    expect(layer.heads).toHaveLength(count)
    expect(mixed!.replaced_heads).toHaveLength(Math.ceil(count / 2))
    expect(mixed!.gain_low!).toBeLessThan(mixed!.gain)
    expect(mixed!.gain_high!).toBeGreaterThan(mixed!.gain)
  })

  it('advises on each layer', () => {
    const ofLayer = (layer: number, error: number) => {
      const record = erring(error, [error, error])
      return {...record, cell: {...record.cell, layer}}
    }
    const error = [ofLayer(0, 0.01), ofLayer(3, 0.3)]
    const {layers} = advise(REQUEST, {error, time}, counted)
    expect(layers.map(({layer, obstacle}) => [layer, obstacle])).toEqual([
      [0, null],
      [3, 'error'],
    ])
  })

  it('names what was left out', () => {
    const error = [
      erring(0.04, [0.04, 0.04]),
      skipped(sweep({method: 'lara'}), 'bidirectional only'),
    ]
    const {left_out} = advise(REQUEST, {error, time}, counted)
    expect(left_out).toEqual(['lara skipped: bidirectional only [1 cell]'])
  })

  it('refuses layers of several shapes, and runs without what it takes', () => {
    const other = sweep({}, {heads: 3})
    expect(() => shapeOf([sweep(), other])).toThrow(/expected layers of one shape, got .*"heads":3/)
    expect(() => shapeOf([skipped(sweep(), 'bidirectional only')])).toThrow('bidirectional only')
    const crashed = failed(sweep(), {code: 'CELL_CRASHED', message: 'killed'})
    expect(() => shapeOf([crashed])).toThrow(expect.objectContaining({code: 'CELL_CRASHED'}))
    const run = () => advise(REQUEST, {error: [sweep()], time: [timed()]}, counted)
    expect(run).toThrow('expected times of an exact form, got none')
  })
})
