import {describe, expect, it} from 'vitest'
import {packageVersion} from '../../../../src/package.js'
import {recordsOfPlan} from '../../../../src/results/journal/plan-records.js'
import {timed} from '../../../helpers/records/bench.js'
import {failed, interrupted} from '../../../helpers/records/outcomes.js'
import {variance} from '../../../helpers/records/variance.js'

const [first, second, third] = [1, 2, 3].map(seed => variance({seed}))
const plan = [first!.key, second!.key]

describe('recordsOfPlan', () => {
  it('gives the newest record of each cell, in the order of the plan', () => {
    const journal = [second!, failed(first!), first!]
    expect(recordsOfPlan(journal, plan, packageVersion())).toEqual({
      records: [first, second],
      foreign: 0,
    })
  })

  it.each([
    ['the one that failed when it was measured anew', [interrupted(first!), failed(first!)], 1],
    ['the whole one', [failed(first!), interrupted(first!), first!], 2],
    ['the whole one, though lines stand twice', [first!, interrupted(first!), failed(first!)], 0],
  ])('gives of a cell that was interrupted %s', (_, journal, newest) => {
    const {records} = recordsOfPlan(journal, plan, packageVersion())
    expect(records).toEqual([journal[newest]])
  })

  it('leaves out cells of other plans', () => {
    const journal = [first!, third!, timed()]
    expect(recordsOfPlan(journal, plan, packageVersion())).toEqual({records: [first], foreign: 2})
  })

  it('believes no key: records whose cells were swapped are left out, and hide none', () => {
    const swapped = [
      {...first!, key: second!.key},
      {...second!, key: first!.key},
    ]
    const journal = [first!, ...swapped]
    expect(recordsOfPlan(journal, plan, packageVersion())).toEqual({records: [first], foreign: 2})
  })

  it('knows cells by what they are where another version made the keys', () => {
    const journal = [{...second!, key: '0123'}]
    expect(recordsOfPlan(journal, plan, '0.0.1').records).toEqual(journal)
  })
})
