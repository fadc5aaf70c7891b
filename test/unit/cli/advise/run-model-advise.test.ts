import {describe, expect, it} from 'vitest'
import {showsLearned} from '../../../../src/cli/advise/run-model-advise.js'

describe('what the packaged model learned', () => {
  it.each([
    [{model: 'charlm'}, true],
    // what is typed is what is advised on
    [{model: 'charlm', methods: ['elu' as const]}, false],
    [{model: 'charlm', texts: 'mine.txt'}, false],
    [{model: 'charlm', parameters: 'tuned.safetensors'}, false],
    [{model: './all-MiniLM-L6-v2'}, false],
  ])('is a candidate of %o: %o', (flags, wanted) => {
    expect(showsLearned(flags)).toBe(wanted)
  })
})
