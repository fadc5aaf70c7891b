import {describe, expect, it} from 'vitest'
import {importModule} from '../../../src/plugins/import.js'

const module = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`

describe('importModule', () => {
  it('waits for what a module waits for', async () => {
    const text = 'await new Promise(resolve => setTimeout(resolve, 1))\nexport const one = 1'
    expect(await importModule(module(text))).toMatchObject({one: 1})
  })

  it('gives up on one that takes too long, and says so', async () => {
    const text = 'setInterval(() => {}, 1000).unref()\nawait new Promise(() => {})'
    await expect(importModule(module(text), 1)).rejects.toMatchObject({
      code: 'PLUGIN_FAILED',
      message: expect.stringContaining('one that still waits after 0.001 s'),
    })
    expect(process.listenerCount('beforeExit')).toBe(0)
  })

  it('passes on what a module throws', async () => {
    await expect(importModule(module("throw new RangeError('no')"))).rejects.toThrow(RangeError)
  })
})
