import {describe, expect, it} from 'vitest'
import {groupBy, inOrder} from '../../../src/report/groups.js'

describe('grouping and sorting', () => {
  const words = ['pear', 'apple', 'plum', 'avocado']

  it('groups in the order in which keys appear', () => {
    expect(groupBy(words, word => word[0] ?? '')).toEqual([
      ['pear', 'plum'],
      ['apple', 'avocado'],
    ])
  })

  it('sorts by first appearance, then by number, and leaves its input alone', () => {
    const sorted = inOrder(words, [word => word[0] ?? ''], [word => -word.length])
    expect(sorted).toEqual(['pear', 'plum', 'avocado', 'apple'])
    expect(words[1]).toBe('apple')
  })
})
