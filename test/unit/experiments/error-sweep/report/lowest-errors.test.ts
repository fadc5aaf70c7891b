import {describe, expect, it} from 'vitest'
import {closing} from '../../../../../src/experiments/error-sweep/report/lowest-errors.js'
import {rankingsOf} from '../../../../../src/experiments/error-sweep/report/ranking.js'
import type {CompletedSweep} from '../../../../../src/experiments/error-sweep/schema.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {deterministic, metric, sweep} from '../../../../helpers/records/error-sweep.js'

const text = (...sections: CompletedSweep[][]) => {
  const told = sections.map((records, at) => {
    return {title: `section ${at}`, ranking: rankingsOf(records)[0]!}
  })
  return renderTerminal(closing(told), {width: 1000, colour: false})
}

/** A row with an error, of a feature vector of some length. */
const row = (method: string, feature_dim: number, error: number, spread = 0.01) =>
  sweep(
    {method, projection: 'iid'},
    {feature_dim, rel_l2: metric(error, error - spread, error + spread)},
  )
const averaging = deterministic('mean-value', {feature_dim: 1, rel_l2: metric(0.461)})

describe('closing', () => {
  it('names the lowest error of each length that has a star, with that of averaging V', () => {
    const rows = [row('rfa', 128, 0.2), row('favor-pos', 64, 0.5), row('elu', 64, 0.3), averaging]
    expect(text(rows)).toBe(
      'Lowest rel L2: F=64 elu iid M=64 0.300; F=128 rfa iid M=64 0.200; averaging V 0.461.',
    )
    // twice the features for a higher error
    expect(text([...rows, row('dpfp', 256, 0.4)])).toBe(text(rows))
  })

  it('names ties, few by name', () => {
    const rows = [row('rfa', 64, 0.4), row('elu', 64, 0.405), row('dpfp', 64, 0.6)]
    expect(text(rows)).toBe('Lowest rel L2: F=64 rfa iid M=64 0.400 (or elu iid M=64).')
    const many = ['a', 'b', 'c', 'd'].map(name => row(name, 64, 0.4))
    expect(text([...many, row('e', 64, 0.6)])).toBe(
      'Lowest rel L2: F=64 a iid M=64 0.400 (or 3 others).',
    )
  })

  it('says nothing where no row has a star, and nothing of exact forms', () => {
    expect(text([row('rfa', 64, 0.4), row('elu', 64, 0.405), averaging])).toBe('')
    expect(text([row('rfa', 64, 0.4), deterministic('softmax')])).toBe('')
  })

  it('names only the lowest of all where there are many lengths', () => {
    const rows = Array.from({length: 8}, (_, at) =>
      row(at % 2 ? 'rfa' : 'elu', 2 ** at, 1 - at / 10),
    )
    expect(text(rows)).toBe('Lowest rel L2: F=128 rfa iid M=64 0.300.')
    expect(text([...rows, row('dpfp', 200, 0.299)])).toBe(
      'Lowest rel L2: F=200 dpfp iid M=64 0.299 (or rfa iid M=64).',
    )
  })

  it('has a line for each of several sections, and not more of them than one reads', () => {
    const section = [row('rfa', 64, 0.4), row('elu', 64, 0.5)]
    const lines = text(...Array.from({length: 9}, () => section)).split('\n')
    expect(lines[0]).toBe('Lowest rel L2:')
    expect(lines.slice(2)).toEqual([
      ...[0, 1, 2, 3, 4, 5].map(at => `- section ${at}: F=64 rfa iid M=64 0.400`),
      '- and 3 more above',
    ])
  })
})
