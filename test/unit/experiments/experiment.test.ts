/** What experiments are to those who run them: cells say how far they are. */
import {describe, expect, it} from 'vitest'
import {planRun} from '../../../src/experiments/planned-run.js'
import type {Plan} from '../../../src/results/record.js'
import {bench, method, sweep} from '../../helpers/plans.js'
import {VARIANCE_PLAN} from '../../helpers/records/variance.js'

/** What the first cell of a plan says. */
async function stepsOf(plan: Plan): Promise<[number, number][]> {
  const {experiment, jobs} = await planRun(plan)
  const steps: [number, number][] = []
  await experiment.run(jobs[0]!.cell, {onStep: (done, total) => void steps.push([done, total])})
  return steps
}

describe('a cell', () => {
  const coupled = {methods: [method('ra')], scales: [1]}

  it('reports each replicate of an error sweep that is a call of its own', async () => {
    expect(await stepsOf(sweep(coupled))).toEqual([
      [1, 3],
      [2, 3],
      [3, 3],
    ])
  })

  it('reports the draws of each projection of a variance experiment', async () => {
    const small = {methods: [method('favor-trig')], backend: 'cpu'}
    const plan = {...VARIANCE_PLAN, ...small} as Plan
    expect(await stepsOf(plan)).toEqual([
      [31, 62],
      [62, 62],
    ])
  })

  it('says that it is warm before it is timed, and nothing while it is', async () => {
    expect(await stepsOf(bench({methods: [method('elu')], seq_lens: [8]}))).toEqual([[0, 1000]])
  })
})
