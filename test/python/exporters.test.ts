/** `rfa export` against `rfa_export.py`: the same model on the same texts gives the same files. */
import {writeFile} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import {beforeAll, describe, expect, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import {exportLayers} from '../../src/export/export.js'
import {readArrays} from '../../src/inputs/files/index.js'
import {toFloat32} from '../../src/inputs/nd-array.js'
import {temporaryFolder} from '../helpers/folders.js'
import {PYTHON, python} from './python.js'

const TEXTS = ['In the beginning God created the heaven', 'And the earth was without form', 'void']
/** Of the largest entry: that of hidden states, which queries, keys and values are products of. */
const TOLERANCE = 1e-5

const folder = temporaryFolder()
const texts = join(folder, 'texts.txt')

describe.runIf(PYTHON)('the files of both exporters', () => {
  beforeAll(async () => {
    await useBackend('auto', {threads: 1})
    await python([resolve('test/python/models.py'), folder, 'bert', 'gpt2', 'llama'])
    await writeFile(texts, TEXTS.join('\n'))
  }, 600_000)

  it.each(['bert', 'gpt2', 'llama'])(
    'are the same: %s',
    async name => {
      const model = join(folder, name)
      const theirs = join(folder, `${name}-theirs`)
      await python([resolve('test/python/exporters.py'), model, texts, theirs])
      const {layers} = await exportLayers({
        ...{model, texts, maxTexts: 9, maxTokens: 99, layers: 'all', force: false},
        ...{output: join(folder, `${name}-ours`), backend: 'auto'},
      })
      for (const {layer, path} of layers) {
        const [ours, wanted] = [
          await readArrays(path),
          await readArrays(join(theirs, `layer${layer}.safetensors`)),
        ]
        expect([...ours.arrays.keys()].sort()).toEqual([...wanted.arrays.keys()].sort())
        expect(ours.metadata.causal).toBe(wanted.metadata.causal)
        const mask = toFloat32(ours.arrays.get('key_mask')!)
        for (const [array, {shape, data}] of wanted.arrays) {
          const own = ours.arrays.get(array)!
          expect(own.shape).toEqual(shape)
          const [a, b] = [toFloat32(own), toFloat32({shape, data, dtype: own.dtype})]
          const largest = b.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
          const isToken = ['q', 'k', 'v'].includes(array)
          const [, heads, length, dim] = isToken ? (shape as [number, number, number, number]) : []
          b.forEach((value, at) => {
            // padding is of no account: one of the two leaves it 0
            const token = isToken && Math.floor(at / (heads! * length! * dim!)) * length!
            const place = isToken ? Number(token) + (Math.floor(at / dim!) % length!) : 0
            if (isToken && mask[place] === 0) return
            expect(Math.abs(a[at]! - value)).toBeLessThanOrEqual(TOLERANCE * largest)
          })
        }
      }
    },
    120_000,
  )
})
