import {existsSync} from 'node:fs'
import {isAbsolute, join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {loadInput} from '../../../src/inputs/load.js'
import {PACKAGED_CAUSAL_INPUT, PACKAGED_INPUT, packagedInput} from '../../../src/inputs/packaged.js'
import {packageRoot} from '../../../src/package.js'

const INPUTS: [boolean, string][] = [
  [false, PACKAGED_INPUT],
  [true, PACKAGED_CAUSAL_INPUT],
]

describe.each(INPUTS)('the packaged input, causal: %s', (causal, name) => {
  it('lies in the folder of the package', () => {
    expect(existsSync(join(packageRoot(), name))).toBe(true)
  })

  it('is named relative to a folder above it, so that plans agree between machines', () => {
    expect(packagedInput(causal, packageRoot())).toBe(name)
  })

  it('is named in full from elsewhere', () => {
    const path = packagedInput(causal, join(packageRoot(), 'src'))
    expect(isAbsolute(path)).toBe(true)
    expect(existsSync(path)).toBe(true)
  })

  it('is of a model that ran so', async () => {
    const paths = [packagedInput(causal)]
    const names = {query: 'q', key: 'k', value: 'v'}
    const {ranCausal} = await loadInput({kind: 'file', paths, names}, {seqLen: null, seed: 0})
    expect(ranCausal).toBe(causal)
  })
})
