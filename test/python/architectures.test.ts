/** rfa.torch.use in every architecture of Transformers that can be made small. `npm run test:python`. */
import {resolve} from 'node:path'
import {describe, expect, it} from 'vitest'
import {PYTHON, python} from './python.js'

interface Tried {
  kind: string
  outcome: 'identical' | 'refused' | 'failed' | 'not made'
  /** The refusal, or what is wrong. */
  why?: string
}

/** A guard against hanging, in ms. */
const PATIENCE = 30 * 60_000
/** Models that are not refused: a test that only looks at differences passes where everything is. */
const KNOWN = [
  'llama',
  'bert',
  'gpt2',
  'vit',
  'whisper',
  'mistral',
  'qwen3',
  'distilbert',
  'clip_text_model',
]

describe.runIf(PYTHON)('architectures of Transformers', () => {
  it(
    'compute the same with softmax in place of softmax and another with elu, or are refused',
    async () => {
      const said = await python([resolve('test/python/architectures.py'), '2'])
      const tried = said
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as Tried)
      const of = (outcome: Tried['outcome']) => tried.filter(each => each.outcome === outcome)
      expect(of('failed').map(({kind, why}) => `${kind}: ${why}`)).toEqual([])
      expect(of('identical').length + of('refused').length).toBeGreaterThanOrEqual(40)
      expect(of('identical').map(({kind}) => kind)).toEqual(expect.arrayContaining(KNOWN))
      for (const {why} of of('refused')) expect(why).toMatch(/expected .*, got /)
    },
    PATIENCE,
  )
})
