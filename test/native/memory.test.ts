import {execFileSync} from 'node:child_process'
import {expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {describeNative} from './addon.js'

/** Outputs of 4 MiB, as many of their pages. */
const LENGTH = 2 ** 20
const PAGES = (4 * LENGTH) / 4096

/**
 * Pages touched for the first time per output, when outputs as the backend makes them were freed together before: the
 * least of some rounds, as V8 touches new pages for itself, too. It frees outputs in a thread of its own, at its leisure:
 * a round begins when they are counted out, however long that takes. In a process of its own.
 */
function newPages(env: NodeJS.ProcessEnv): number {
  const script = `
    const addon = require('node-gyp-build')(${JSON.stringify(packageRoot())})
    const input = new Float32Array(${LENGTH})
    const COUNT = 12
    const touch = () => {
      const before = process.resourceUsage().minorPageFault
      for (let i = 0; i < COUNT; i++) {
        const output = new Float32Array(Buffer.allocUnsafeSlow(${4 * LENGTH}).buffer)
        addon.unary(addon.codes.unary.Exp, input, output)
      }
      return (process.resourceUsage().minorPageFault - before) / COUNT
    }
    const collect = async () => {
      // the input stays, and one may still be on its way
      const freed = () => process.memoryUsage().arrayBuffers <= ${3 * 4 * LENGTH}
      for (let turn = 0; turn < 10_000 && !freed(); turn++) {
        gc()
        await new Promise(resolve => setTimeout(resolve, 1))
      }
      if (!freed()) throw new Error('outputs are never freed')
    }
    ;(async () => {
      // twice: glibc adapts to the size of what is freed first
      for (let i = 0; i < 2; i++) {
        touch()
        await collect()
      }
      let least = Infinity
      for (let round = 0; round < 8 && least >= ${PAGES / 8}; round++) {
        least = Math.min(least, touch())
        await collect()
      }
      console.log(least)
    })()`
  const options = {env: {...process.env, ...env}, encoding: 'utf8'} as const
  return Number(execFileSync(process.execPath, ['--expose-gc', '-e', script], options))
}

const onGlibc = Boolean(
  (process.report.getReport() as {header: {glibcVersionRuntime?: string}}).header
    .glibcVersionRuntime,
)

describeNative('memory of outputs', () => {
  it.runIf(onGlibc)('is used again, instead of new pages from the system', () => {
    expect(newPages({})).toBeLessThan(PAGES / 8)
  })

  it.runIf(onGlibc)('follows the variables of malloc where they are set', () => {
    expect(newPages({MALLOC_TRIM_THRESHOLD_: '131072'})).toBeGreaterThan(PAGES / 2)
  })
})
