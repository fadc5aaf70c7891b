import {basename} from 'node:path'
import {describe, expect, it} from 'vitest'
import {sampledInput} from '../../../../src/cli/plans/variance-input.js'

const CAUSAL = 'fixtures/charlm-layer0.safetensors'
const SILENT = {note: () => {}, warn: () => {}}

describe('sampledInput', () => {
  it('is none where norms and angles make the pairs', async () => {
    expect(await sampledInput({norms: [[1]]}, SILENT)).toBeUndefined()
  })

  it('draws pairs from the input of the package, one of each head unless more are asked for', async () => {
    const input = await sampledInput({seed: 2, input: undefined, pairs: 30}, SILENT)
    expect(input).toMatchObject({headDim: 32})
    expect(input!.pairs).toHaveLength(30)
    const file = `fixtures/${input!.input}`
    const each = await sampledInput({input: [file]}, SILENT)
    expect(each!.pairs.map(({head}) => head)).toEqual(Array.from({length: 12}, (_, head) => head))
  })

  it.each([
    ['--norms', {norms: [[1]]}],
    ['--head-dim', {'head-dim': [[16]]}],
    ['--sum-norms', {'sum-norms': [[1]]}],
  ])('refuses %s beside an input', async (name, flags) => {
    await expect(sampledInput({pairs: 3, ...flags}, SILENT)).rejects.toMatchObject({
      code: 'USAGE',
      message: `${name}: expected no pairs of an input beside it, got --pairs`,
    })
  })

  it('takes keys in view as the file says, unless a flag says otherwise, and says so', async () => {
    const asked = async (flags: {causal?: boolean}) => {
      const said: string[] = []
      const input = [CAUSAL]
      const listeners = {...SILENT, note: (text: string) => said.push(text)}
      const {pairs} = (await sampledInput({input, pairs: 300, ...flags}, listeners))!
      const later = pairs.filter(pair => pair.key_index! > pair.query_index!)
      return {said, later: later.length}
    }
    const name = basename(CAUSAL)
    expect(await asked({})).toEqual({
      said: [`pairs of ${name}, causal (as the file says)`],
      later: 0,
    })
    const {said, later} = await asked({causal: false})
    expect(said).toEqual([`pairs of ${name}, bidirectional (--no-causal)`])
    expect(later).toBeGreaterThan(0)
  })

  it('takes one layer', async () => {
    await expect(sampledInput({pairs: 3, layer: [[0, 3]]}, SILENT)).rejects.toMatchObject({
      message: '--layer: expected one layer, got 0, 3',
    })
  })
})
