import {describe, expect, it} from 'vitest'
import type {CellRecord, ComputedBy} from '../../../../src/results/record.js'
import {compareCode, warnOnMixedBackends} from '../../../../src/runner/folder/mixed-backends.js'
import {timed} from '../../../helpers/records/bench.js'
import {skipped} from '../../../helpers/records/outcomes.js'
import {variance} from '../../../helpers/records/variance.js'

const by = (backend: ComputedBy['backend'], instruction_set: string | null): CellRecord => {
  const record = variance()
  return {...record, result: {...record.result, backend, instruction_set}}
}

function warningsOf(earlier: CellRecord[], later: CellRecord[]): string[] {
  const warnings: string[] = []
  later.forEach(warnOnMixedBackends(earlier, text => warnings.push(text)))
  return warnings
}

describe('warnOnMixedBackends', () => {
  it('reports once that instruction sets or backends are mixed, naming both', () => {
    const scalar = by('native', 'scalar')
    expect(warningsOf([by('native', 'avx512')], [scalar, scalar, by('wasm', null)])).toEqual([
      expect.stringContaining('by native (avx512), this session computes by native (scalar)'),
      expect.stringContaining('by native (avx512), this session computes by wasm'),
    ])
  })

  it.each([
    ['all came about alike', [by('native', 'avx2')], [by('native', 'avx2')]],
    ['there was nothing before', [], [by('wasm', null)]],
    [
      'other backends were asked for',
      [timed({backend: 'native'}, 1e6, {backend: 'native'})],
      [timed({backend: 'wasm'}), timed({peer: 'torch'}, 1e6, {backend: 'torch'})],
    ],
    ['nothing was computed', [by('native', 'avx2')], [skipped(timed())]],
  ])('says nothing where %s', (_, earlier, later) => {
    expect(warningsOf(earlier, later)).toEqual([])
  })
})

describe('compareCode', () => {
  const warningOf = (started: string | null, now: string | null) => {
    const warnings: string[] = []
    compareCode(started, now, text => warnings.push(text))
    return warnings
  }

  it('reports a run that another commit started, naming both', () => {
    const both = 'the run was started by rfa at commit abc1234, this session is at abc1235'
    expect(warningOf('abc1234', 'abc1235')).toEqual([expect.stringContaining(both)])
  })

  it.each([
    ['abc1234', 'abc1234'],
    [null, 'abc1234'],
    ['abc1234', null],
    [null, null],
  ])('says nothing of %s and %s', (started, now) => {
    expect(warningOf(started, now)).toEqual([])
  })
})
