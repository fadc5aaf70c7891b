import {describe, expect, it} from 'vitest'
import {closing} from '../../../../src/experiments/error-sweep/closing.js'
import type {CompletedSweep} from '../../../../src/experiments/error-sweep/schema.js'
import {renderTerminal} from '../../../../src/report/terminal.js'
import {deterministic, metric, sweep} from '../../../helpers/records/error-sweep.js'

const text = (...sections: CompletedSweep[][]) =>
  renderTerminal(closing(sections.map((records, at) => ({title: `section ${at}`, records}))), {
    width: 1000,
    colour: false,
  })

/** A row with an error, of a feature vector of some length. */
const row = (method: string, feature_dim: number, error: number, spread = 0.01) =>
  sweep(
    {method, projection: 'iid'},
    {feature_dim, rel_l2: metric(error, error - spread, error + spread)},
  )
const averaging = deterministic('mean-value', {feature_dim: 1, rel_l2: metric(0.461)})

describe('closing', () => {
  it('names the lowest error of each length, with that of averaging V', () => {
    const rows = [row('rfa', 128, 0.4), row('favor-pos', 64, 0.5), row('elu', 64, 0.3), averaging]
    expect(text(rows)).toBe(
      'Lowest median rel L2 by length of the feature vector: F=64 elu iid M=64 0.300; F=128 rfa iid M=64 0.400; averaging V 0.461.',
    )
  })

  it('names what is not distinguishable from it, few by name', () => {
    const rows = [row('rfa', 64, 0.4), row('elu', 64, 0.405), row('dpfp', 64, 0.6)]
    expect(text(rows)).toContain('F=64 rfa iid M=64 0.400 (or elu iid M=64).')
    const many = ['a', 'b', 'c', 'd'].map(name => row(name, 64, 0.4))
    expect(text(many)).toContain('F=64 a iid M=64 0.400 (or 3 others).')
  })

  it('says nothing where nothing competes, and nothing of exact forms', () => {
    expect(text([row('rfa', 64, 0.4), row('rfa', 64, 0.5), averaging])).toBe('')
    expect(text([row('rfa', 64, 0.4), deterministic('softmax')])).toBe('')
    const matched = sweep({method: 'rfa', target: 'matched'})
    expect(text([row('elu', 64, 0.4), matched])).toBe('')
  })

  it('names only the lowest of all where there are many lengths', () => {
    const rows = Array.from({length: 8}, (_, at) =>
      row(at % 2 ? 'rfa' : 'elu', 2 ** at, 1 - at / 10),
    )
    expect(text(rows)).toBe(
      'Lowest median rel L2 by length of the feature vector: F=128 rfa iid M=64 0.300.',
    )
  })

  it('has a line for each of several sections, and not more of them than one reads', () => {
    const section = [row('rfa', 64, 0.4), row('elu', 64, 0.5)]
    const lines = text(...Array.from({length: 9}, () => section)).split('\n')
    expect(lines[0]).toBe('Lowest median rel L2 by length of the feature vector:')
    expect(lines.slice(2)).toEqual([
      ...[0, 1, 2, 3, 4, 5].map(at => `- section ${at}: F=64 rfa iid M=64 0.400`),
      '- and 3 more above',
    ])
  })
})
