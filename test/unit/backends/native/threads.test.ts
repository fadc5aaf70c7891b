import {describe, expect, it} from 'vitest'
import {useBackend} from '../../../../src/backends/index.js'

describe('threads of a backend', () => {
  it.each([0, -1, 1.5, Number.NaN])('are refused when they are %s', async threads => {
    await expect(useBackend('cpu', {threads})).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: `threads: expected a positive integer, got ${threads}`,
    })
  })

  it('are refused by a backend that has one', async () => {
    await expect(useBackend('wasm', {threads: 2})).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: 'threads: expected 1, all that backend wasm has, got 2',
      suggestions: ['use --backend native'],
    })
  })

  it('may be one anywhere', async () => {
    expect(await useBackend('cpu', {threads: 1})).toMatchObject({name: 'cpu', threads: 1})
  })
})
