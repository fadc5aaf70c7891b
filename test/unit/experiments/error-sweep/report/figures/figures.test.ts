import {describe, expect, it} from 'vitest'
import {errorSweepFigures} from '../../../../../../src/experiments/error-sweep/report/figures/figures.js'
import type {ErrorSweepRecord} from '../../../../../../src/experiments/error-sweep/schema.js'
import {
  deterministic,
  failedSweep,
  metric,
  sweep,
} from '../../../../../helpers/records/error-sweep.js'

/** Errors of 2 / sqrt(M). */
const ofFeatures = (num_features: number, changes = {}) =>
  sweep(
    {num_features, ...changes},
    {rel_l2: metric(2 / Math.sqrt(num_features)), mse: metric(4 / num_features), mean_value_mse: 9},
  )

/** Without tiles of heads, which have a test of their own. */
const lines = (records: readonly ErrorSweepRecord[]) =>
  errorSweepFigures(records).filter(({shade}) => !shade)

describe('figures of an error sweep', () => {
  it('has a line for each variant over M, with its points in order', () => {
    const records = [256, 16, 64].flatMap(M => [
      ofFeatures(M),
      ofFeatures(M, {projection: 'iid', method: 'favor-hyp'}),
    ])
    const [figure, ...others] = lines(records)
    expect(others).toEqual([])
    expect(figure!.name).toBe('error-over-features')
    expect(
      figure!.series.map(({label, method, projection}) => [label, method, projection]),
    ).toEqual([
      ['favor-pos orth', 'favor-pos', 'orth'],
      ['favor-hyp iid', 'favor-hyp', 'iid'],
    ])
    expect(figure!.series[0]!.points.map(({x, y}) => [x, y])).toEqual([
      [16, 0.5],
      [64, 0.25],
      [256, 0.125],
    ])
    expect(figure!.table.rows).toHaveLength(6)
  })

  it('has the law and the error of averaging V beside them', () => {
    const {guides} = lines([ofFeatures(16), ofFeatures(64)])[0]!
    const [law, average] = guides
    expect(law!.label).toBe('1/sqrt(M)')
    // parallel to the line, below it
    expect(law!.points.map(([x]) => x)).toEqual([16, 64])
    expect(law!.points[0]![1]).toMatchReference(0.5 / 1.3, 12)
    expect(law!.points[1]![1]).toMatchReference(0.25 / 1.3, 12)
    // sqrt(9 / (4 / 16)) times 0.5
    expect(average).toEqual({
      label: 'averaging V',
      points: [
        [16, 3],
        [64, 3],
      ],
    })
  })

  it('ends the law where it would rule the axis', () => {
    const level = (M: number) => sweep({num_features: M}, {rel_l2: metric(0.5)})
    const [law] = lines([level(16), level(4096)])[0]!.guides
    const [start, end] = law!.points
    expect(start![1]).toMatchReference(0.5 / 1.3, 12)
    expect(end![1]).toMatchReference(0.25, 12)
    expect(end![0]).toMatchReference(16 * (2 / 1.3) ** 2, 12)
  })

  it('draws averaging V as what others are compared with, and not as a line as well', () => {
    const [figure] = lines([ofFeatures(16), ofFeatures(64), deterministic('mean-value')])
    expect(figure!.series.map(({method}) => method)).toEqual(['favor-pos'])
    expect(figure!.guides.map(({label}) => label)).toContain('averaging V')
  })

  it('ends the axis before what diverges, unless everything does', () => {
    // averaging V errs by 3 (see above)
    const diverging = (M: number) =>
      sweep(
        {num_features: M, method: 'favor-trig'},
        {rel_l2: metric(100), mse: metric(1e4), mean_value_mse: 9},
      )
    const limitOf = (records: readonly ErrorSweepRecord[]) => lines(records)[0]!.y.limit
    expect(limitOf([ofFeatures(16), ofFeatures(64)])).toBeUndefined()
    expect(limitOf([diverging(16), diverging(64)])).toBeUndefined()
    const [figure] = lines([ofFeatures(16), ofFeatures(64), diverging(16), diverging(64)])
    expect(figure!.y.limit).toBe(3)
    expect(figure!.caption).toContain('beyond its axis')
  })

  it('is drawn over the length of features on demand, where a method without M is a point', () => {
    const records = [
      ...[32, 128].map(feature_dim => sweep({num_features: feature_dim / 2}, {feature_dim})),
      sweep({method: 'elu', projection: null, num_features: null}, {feature_dim: 48}),
    ]
    const [figure] = errorSweepFigures(records, 'F').filter(({shade}) => !shade)
    expect(figure!.x.label).toContain('F')
    const xs = figure!.series.map(({points}) => points.map(({x}) => x))
    expect(xs).toEqual([[32, 128], [48]])
  })

  it('has lines of a few scales in one figure, each with its average and its colour', () => {
    const scaled = (scale: number) => [16, 64].map(M => ofFeatures(M, {scale}))
    const [figure, ...others] = lines([...scaled(0.25), ...scaled(1), ...scaled(0.5)])
    expect(others).toEqual([])
    expect(figure!.series.map(({label, note, colour}) => [label, note, colour])).toEqual([
      ['favor-pos orth', 'logits / 16', 3],
      ['favor-pos orth', 'logits unchanged', 1],
      ['favor-pos orth', 'logits / 4', 2],
    ])
    expect(figure!.guides.filter(({label}) => label === 'averaging V')).toHaveLength(3)
    const many = [1, 2, 3, 4, 5, 6, 7].flatMap(scaled)
    expect(lines(many)).toHaveLength(7)
  })

  it('has what theory predicts as lines without markers', () => {
    const predicted = (M: number) => sweep({num_features: M}, {predicted_rel_l2: 1 / M})
    const [, line] = lines([predicted(16), predicted(64)])[0]!.series
    expect(line).toMatchObject({label: 'favor-pos orth, predicted', computed: true})
    expect(line!.points.map(({y}) => y)).toEqual([1 / 16, 1 / 64])
  })

  it('shows a method without random vectors as a level', () => {
    const [figure] = lines([ofFeatures(16), ofFeatures(64), deterministic('elu')])
    const level = figure!.series.find(({method}) => method === 'elu')!
    expect(level.points.map(({x, y}) => [x, y])).toEqual([
      [16, 0.25],
      [64, 0.25],
    ])
  })

  it('leaves out what errs by rounding alone', () => {
    const exact = sweep(
      {method: 'softmax', projection: null, num_features: null},
      {rel_l2: metric(3e-7)},
    )
    const [figure] = lines([ofFeatures(16), ofFeatures(64), exact])
    expect(figure!.series.map(({method}) => method)).toEqual(['favor-pos'])
  })

  it('is drawn over length and norm at the most features', () => {
    const norms = [0.5, 1].flatMap(scale =>
      [16, 64].map(num_features =>
        sweep(
          {scale, num_features},
          {statistics: {...sweep().result.statistics, query_norm2: 4 * scale ** 2}},
        ),
      ),
    )
    const figures = lines(norms)
    const over = figures.find(({name}) => name === 'error-over-norm')!
    expect(over.series.map(({label}) => label)).toEqual(['favor-pos orth M=64'])
    expect(over.series[0]!.points.map(({x}) => x)).toEqual([1, 4])
    const lengths = [128, 256].map(seq_len => sweep({seq_len}, {query_len: seq_len}))
    expect(lines(lengths).map(({name}) => name)).toEqual(['error-over-length'])
  })

  it('is not drawn of one value, or of cells that failed', () => {
    expect(lines([sweep(), failedSweep('CELL_CRASHED', 'no')])).toEqual([])
  })

  it('has a line of averaging V where that differs along the axis', () => {
    const records = [1, 4].map(norm =>
      sweep(
        {scale: norm},
        {
          statistics: {...sweep().result.statistics, query_norm2: norm},
          rel_l2: metric(0.5),
          mse: metric(0.25),
          mean_value_mse: norm,
        },
      ),
    )
    const [average] = lines(records)[0]!.guides
    expect(average!.points).toEqual([
      [1, 1],
      [4, 2],
    ])
  })
})
