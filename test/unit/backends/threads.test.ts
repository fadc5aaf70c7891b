import {describe, expect, it} from 'vitest'
import {checkThreads, useBackend} from '../../../src/backends/index.js'

describe('threads of a backend', () => {
  it.each([0, -1, 1.5, 1025, 2 ** 32 + 1, Number.NaN])(
    'are refused when they are %s',
    async threads => {
      await expect(useBackend('cpu', {threads})).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: `threads: expected an integer from 1 to 1024, got ${threads}`,
      })
    },
  )

  it('are refused by a backend that has one, before it is tried too', async () => {
    for (const attempt of [() => useBackend('wasm', {threads: 2}), () => checkThreads('wasm', 2)]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'UNSUPPORTED',
        message: 'threads: expected 1, all that backend wasm has, got 2',
        suggestions: ['use `backend: native`'],
      })
    }
  })

  it('may be one anywhere, and as many as the bound where the backend is not known yet', async () => {
    expect(await useBackend('cpu', {threads: 1})).toMatchObject({name: 'cpu', threads: 1})
    await checkThreads('wasm', 1)
    await checkThreads('auto', 1024)
  })
})
