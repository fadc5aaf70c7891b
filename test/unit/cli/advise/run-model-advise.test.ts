import {describe, expect, it} from 'vitest'
import {showsLearned} from '../../../../src/cli/advise/run-model-advise.js'
import {packagedFile} from '../../../../src/inputs/packaged.js'

describe('what the packaged model learned', () => {
  const packaged = packagedFile('charlm')

  it('is a candidate where nothing else is typed', () => {
    expect(showsLearned({}, packaged)).toBe(true)
  })

  it.each([
    {methods: ['elu' as const]},
    {'num-features': [[256]]},
    {texts: 'mine.txt'},
    {parameters: 'tuned.safetensors'},
  ])('is none next to %o', flags => {
    expect(showsLearned(flags, packaged)).toBe(false)
  })

  it('is none of a model in a folder of the same name', () => {
    expect(showsLearned({}, 'charlm')).toBe(false)
  })
})
