import {describe, expect, it} from 'vitest'
import {nothingMeasured} from '../../../../src/cli/run/nothing-measured.js'
import {sweep} from '../../../helpers/records/error-sweep.js'
import {skipped} from '../../../helpers/records/outcomes.js'

describe('what to do where nothing was measured', () => {
  const none = (experiment: string, reason: string) =>
    nothingMeasured({experiment, seed: 0, backend: 'auto'}, [
      skipped(sweep({method: 'lara'}), reason),
    ])

  it('is never to set what a model or a task says itself', () => {
    for (const experiment of ['train', 'swap']) {
      expect(none(experiment, 'bidirectional only')).toBe(
        'nothing was measured: lara skipped: bidirectional only [1 cell]; name methods with a causal form: rfa methods lists them',
      )
      expect(none(experiment, 'causal only')).toContain('name methods with a bidirectional form')
    }
    expect(none('error-sweep', 'bidirectional only')).toContain('; leave `causal` out')
  })
})
