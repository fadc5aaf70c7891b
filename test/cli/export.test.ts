import {beforeEach, describe, expect, it, vi} from 'vitest'
import Export from '../../commands/export.js'
import type {ExportRecord} from '../../src/export/record.js'
import {madeBy} from '../helpers/records/made-by.js'
import {run, runner} from './services.js'

const RECORD: ExportRecord = {
  schema: 'rfa.export/1',
  ...{
    model: 'my model',
    texts: 'texts.txt',
    texts_left_out: 0,
    texts_read: 60,
    tokens_read: 4000,
    seq_len: 128,
  },
  ...{heads: 32, key_heads: 4, head_dim: 64, causal: true, logit_scale: 0.125},
  ...madeBy({backend: 'native', threads: 2}),
  layers: [0, 3].map(layer => ({layer, path: `-out/layer${layer}.safetensors`, residual_norm: 2})),
}

beforeEach(() => {
  vi.clearAllMocks()
  runner.exportLayers.mockResolvedValue(RECORD)
})

describe('rfa export', () => {
  it('says what it wrote, and which command reads it', async () => {
    const argv = '--model m --texts t --layer 0,3 --max-tokens 128 -o out --threads 2'.split(' ')
    const {stdout, stderr} = await run(Export, 'export', argv)
    expect(runner.exportLayers.mock.lastCall?.[0]).toEqual({
      ...{model: 'm', texts: 't', maxTexts: 60, maxTokens: 128, layers: [0, 3]},
      ...{output: 'out', force: false, backend: 'auto', engine: 'auto', threads: 2},
    })
    expect(stdout).toBe('')
    expect(stderr).toContain(
      'q, k and v of 2 layers of my model: 60 texts of up to 128 tokens, 32 heads of 64, 4 of keys and values',
    )
    expect(stderr).toContain('next: rfa error-sweep --input ./-out/layer0.safetensors')
  })

  it('takes the packaged model and all its layers by default, and prints the record under --json', async () => {
    const {stdout} = await run(Export, 'export', ['-o', 'out', '--json'])
    expect(JSON.parse(stdout)).toEqual(RECORD)
    expect(runner.exportLayers.mock.lastCall?.[0]).toMatchObject({
      model: expect.stringMatching(/charlm$/),
      layers: 'all',
    })
  })
})
