import {describe, expect, it} from 'vitest'
import {orderItems} from '../../../../src/experiments/error-sweep/order.js'
import type {ErrorSweepCell} from '../../../../src/experiments/error-sweep/schema.js'
import {deterministic, metric, ranged, sweep} from '../../../helpers/records/error-sweep.js'

/** A row with an interval of its median error. */
const row = (cell: Partial<ErrorSweepCell>, low: number, high: number) =>
  sweep(cell, {rel_l2: metric((low + high) / 2, low, high)})

const iid = (num_features: number, low: number, high: number, method = 'favor-pos') =>
  row({projection: 'iid', method, num_features}, low, high)
const orth = (num_features: number, low: number, high: number, method = 'favor-pos') =>
  row({projection: 'orth', method, num_features}, low, high)

/** A row with the range of so many draws. */
const drawn = (replicates: number, projection: 'iid' | 'orth', min: number, max: number) =>
  sweep({projection, replicates}, {rel_l2: ranged((min + max) / 2, min, max)})

const HEAD = 'rel L2 is not distinguishable at 10 replicates (their 95 % intervals overlap): '
const TREND = 'rel L2 shows no trend with M at 10 replicates (their 95 % intervals overlap): '

describe('orderItems', () => {
  it('names projections of one M whose intervals overlap, the same ones of several M once', () => {
    const rows = [iid(64, 0.5, 0.6), iid(256, 0.3, 0.4), orth(64, 0.59, 0.7), orth(256, 0.2, 0.31)]
    expect(orderItems(rows)).toEqual([`${HEAD}favor-pos iid, orth at M=64, 256`])
  })

  it('names neighbouring M of one variant, the same ones of several projections once', () => {
    const rows = [
      ...[iid(64, 0.5, 0.6), iid(256, 0.55, 0.7), iid(1024, 0.1, 0.2)],
      ...[orth(64, 0.25, 0.3), orth(256, 0.29, 0.4), orth(1024, 0.05, 0.08)],
    ]
    expect(orderItems(rows)).toEqual([`${TREND}favor-pos iid, orth M=64, 256`])
  })

  it('says nothing where intervals stand apart', () => {
    expect(orderItems([iid(64, 0.5, 0.6), orth(64, 0.3, 0.4), iid(256, 0.1, 0.2)])).toEqual([])
  })

  it('names methods that overlap, and no group within another', () => {
    const rows = [
      iid(64, 0.5, 0.7),
      orth(64, 0.5, 0.7),
      iid(64, 0.65, 0.9, 'favor-hyp'),
      iid(64, 0.85, 1, 'rfa'),
    ]
    expect(orderItems(rows)).toEqual([
      `${HEAD}favor-pos iid, orth and favor-hyp iid at M=64; favor-hyp iid and rfa iid at M=64`,
    ])
  })

  it('goes by the range of fewer replicates than an interval takes', () => {
    expect(orderItems([drawn(5, 'iid', 0.5, 0.6), drawn(5, 'orth', 0.55, 0.7)])).toEqual([
      'rel L2 is not distinguishable at 5 replicates (their ranges overlap): favor-pos iid, orth at M=64',
    ])
    expect(orderItems([drawn(5, 'iid', 0.5, 0.6), drawn(5, 'orth', 0.65, 0.7)])).toEqual([])
  })

  it.each([1, 4])('tells nothing from %i draws, whose ranges chance alone puts apart', count => {
    const high = count === 1 ? 0.5 : 0.6
    expect(orderItems([drawn(count, 'iid', 0.5, high), drawn(count, 'orth', 0.8, 0.8)])).toEqual([
      `rel L2 is not distinguishable at ${count} replicate${count === 1 ? '' : 's'} (fewer than 5 tell nothing): favor-pos iid, orth at M=64`,
    ])
  })

  it('leaves out what has no features to choose, and what broken replicates left without a spread', () => {
    const broken = sweep({projection: 'iid'}, {rel_l2: metric(0.5, 0.4, null)})
    const rows = [deterministic('elu'), deterministic('softmax'), broken, orth(64, 0.4, 0.6)]
    expect(orderItems(rows)).toEqual([])
  })

  it('stays short, however many overlap', () => {
    const rows = Array.from({length: 40}, (_, at) => [
      iid(at + 1, at, at + 0.4, `m${at}`),
      orth(at + 1, at, at + 0.4, `m${at}`),
    ]).flat()
    const [item, ...others] = orderItems(rows)
    expect(others).toEqual([])
    expect(item).toMatch(
      /^rel L2 is not distinguishable .*m0 iid, orth at M=1; .*m5 iid, orth at M=6; and 34 more$/,
    )
  })
})
