import {execFileSync} from 'node:child_process'
import {once} from 'node:events'
import {availableParallelism} from 'node:os'
import {Worker} from 'node:worker_threads'
import {expect, it} from 'vitest'
import {probeBackends, useBackend} from '../../src/backends/index.js'
import {packageRoot} from '../../src/package.js'
import {describeNative, instructionSets} from './addon.js'

/** What the addon says of itself in a process with these variables. */
function runtimeWith(env: NodeJS.ProcessEnv): Record<string, unknown> {
  const script = `console.log(JSON.stringify(require('node-gyp-build')(${JSON.stringify(packageRoot())}).runtime()))`
  const options = {cwd: packageRoot(), env: {...process.env, ...env}, encoding: 'utf8'} as const
  return JSON.parse(execFileSync(process.execPath, ['-e', script], options))
}

describeNative('the addon', addon => {
  it.each(instructionSets())('runs %s when RFA_ISA says so', isa => {
    expect(runtimeWith({RFA_ISA: isa})).toMatchObject({isa, forced: true, error: ''})
  })

  it('says what is wrong with an RFA_ISA it does not have', () => {
    const {error, isa} = runtimeWith({RFA_ISA: 'mmx'})
    expect(error).toMatch(/^RFA_ISA: unknown instruction set "mmx"; expected one of: .*scalar$/)
    expect(isa).toBe(instructionSets()[0])
  })

  it('says why a set cannot be chosen and keeps its own', () => {
    const before = addon.runtime().isa
    expect(addon.selectIsa('sse9')).toMatch(/unknown instruction set "sse9"/)
    expect(addon.runtime().isa).toBe(before)
  })

  it('measures a peak that vectors explain', () => {
    const peak = addon.fmaPeak(0.02)
    expect(peak).toBeGreaterThan(0)
    // two vector multiply-adds a cycle at 10 GHz
    expect(peak).toBeLessThan(2 * 2 * addon.runtime().lanes * 10)
  })

  it('gives its workspaces back', async () => {
    await useBackend('native')
    addon.releaseWorkspace()
    expect(addon.workspaceBytes()).toBe(0)
  })
})

describeNative('the native backend', addon => {
  it('takes the threads it is told to, or as many as the machine gives', async () => {
    expect(await useBackend('native', {threads: 3})).toEqual({
      name: 'native',
      threads: 3,
      instructionSet: addon.runtime().isa,
    })
    expect((await useBackend('native')).threads).toBe(availableParallelism())
  })

  it('computes in a worker and here at the same time, and outlives the worker', async () => {
    await useBackend('native', {threads: 2})
    const input = Float32Array.from({length: 40009}, (_, i) => i / 40009)
    const here = new Float32Array(input.length)
    const code = addon.codes.unary.Exp!
    addon.unary(code, input, here)
    const worker = new Worker(
      `const {workerData, parentPort} = require('node:worker_threads')
       const {root, code, input} = workerData
       const addon = require('node-gyp-build')(root)
       const out = new Float32Array(input.length)
       for (let i = 0; i < 50; i++) addon.unary(code, input, out)
       parentPort.postMessage(out)`,
      {eval: true, workerData: {root: packageRoot(), code, input}},
    )
    const again = new Float32Array(input.length)
    const message = once(worker, 'message')
    for (let i = 0; i < 50; i++) addon.unary(code, input, again)
    const [there] = (await message) as [Float32Array]
    await worker.terminate()
    expect(there).toEqual(here)
    addon.unary(code, input, again)
    expect(again).toEqual(here)
    expect(addon.threads()).toBe(2)
  })

  it('is what auto takes', async () => {
    expect((await useBackend('auto')).name).toBe('native')
  })

  it('describes itself for the doctor', async () => {
    const report = (await probeBackends()).find(({name}) => name === 'native')!
    expect(report.detail).toMatch(
      /^C\+\+ kernels, \w+, release build by .+, \d+ threads?, \d+ GFLOP/,
    )
  })
})

it('takes as many threads as asked for, or its share, or one per processor', async () => {
  expect((await useBackend('native', {threadShare: 1})).threads).toBe(1)
  expect((await useBackend('native', {threadShare: 5})).threads).toBe(5)
  expect((await useBackend('native', {})).threads).toBe(availableParallelism())
  expect((await useBackend('native', {threads: 3, threadShare: 1})).threads).toBe(3)
})
