import {describe, expect, it} from 'vitest'
import {
  backendLabel,
  inputLabel,
  methodLabel,
  troubleItems,
} from '../../../src/experiments/labels.js'
import {failedSweep, skippedSweep, sweep} from '../../helpers/records/error-sweep.js'
import {madeBy} from '../../helpers/records/made-by.js'

describe('methodLabel', () => {
  it('names what differs from the exact form', () => {
    expect(methodLabel({method: 'elu', preset: 'exact', options: {}})).toBe('elu')
    expect(methodLabel({method: 'rfa', preset: 'noahs-ark', options: {tau: 0.5}})).toBe(
      'rfa (noahs-ark, tau=0.5)',
    )
    const file = {path: 'tuned.safetensors', digest: '', projection: null, num_features: null}
    const tuned = {...file, draws: null}
    expect(methodLabel({method: 'elu', preset: 'exact', options: {}, tuned})).toBe('elu (tuned)')
  })
})

describe('backendLabel', () => {
  const label = (facts: Partial<Parameters<typeof madeBy>[0]>) =>
    backendLabel(madeBy({backend: 'native', instruction_set: 'avx2', ...facts}))

  it('names the threads, and the processes that had so many at once', () => {
    expect(label({threads: 2, processes: 1})).toBe('backend native (avx2), 2 threads')
    expect(label({threads: 1, processes: 2})).toBe(
      'backend native (avx2), 2 processes of 1 thread each',
    )
    expect(label({threads: 2, processes: 3})).toBe(
      'backend native (avx2), 3 processes of 2 threads each',
    )
  })

  it('says no more than earlier records know', () => {
    expect(label({threads: 1})).toBe('backend native (avx2), 1 thread')
    expect(label({instruction_set: null})).toBe('backend native')
  })
})

describe('inputLabel', () => {
  it('names files without their folders', () => {
    expect(inputLabel(sweep().cell.input)).toBe('tiny.safetensors')
  })

  it('says in which order the axes of files were read, where it is not the ordinary one', () => {
    const {input} = sweep().cell
    const turned = {...input, layout: 'blhd'} as typeof input
    expect(inputLabel(turned)).toBe('tiny.safetensors as [B, L, H, D]')
  })

  it('names the generator of a generated input', () => {
    const shape = {batch: 1, heads: 3, head_dim: 17, value_dim: 13, key_len: 31}
    expect(inputLabel({kind: 'generator', name: 'ar1', ...shape})).toBe('generated ar1')
  })
})

describe('troubleItems', () => {
  it('reports each reason once, with the methods and the number of cells', () => {
    const items = troubleItems([
      sweep(),
      skippedSweep('no causal form', {method: 'identity'}),
      skippedSweep('no causal form', {method: 'identity', scale: 2}),
      failedSweep('CELL_TIMEOUT', 'took longer than 3 s'),
    ])
    expect(items).toEqual([
      'identity skipped: no causal form [2 cells]',
      'favor-pos failed: took longer than 3 s (CELL_TIMEOUT) [1 cell]',
    ])
  })
})
