import * as tf from '@tensorflow/tfjs-core'
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest'
import cpu from '../../../src/backends/cpu.js'
import {
  BACKEND_NAMES,
  type BackendChoice,
  type BackendName,
  meteredBackend,
  probeBackends,
  tryPreferred,
  useBackend,
} from '../../../src/backends/index.js'
import native from '../../../src/backends/native/index.js'
import {loadFrom} from '../../../src/backends/native/loader.js'
import wasm from '../../../src/backends/wasm.js'

const reports = await probeBackends()
const available = reports.filter(report => report.available).map(({name}) => name as BackendName)

describe('useBackend', () => {
  it.each(available)('makes %s the current backend and loads the estimators', async name => {
    const active = await useBackend(name)
    expect(active.name).toBe(name)
    expect(active.threads).toBeGreaterThanOrEqual(1)
    expect(tf.getBackend()).toBe(name)
    expect(tf.tidy(() => tf.sum(tf.tensor1d([1, 2])).dataSync()[0])).toBe(3)
  })

  it.each(available)('lets a gradient save what its forward computes, on %s', async name => {
    await useBackend(name)
    const root = tf.customGrad((x, save) => {
      const half = tf.sqrt(x as tf.Tensor)
      ;(save as (tensors: tf.Tensor[]) => void)([half])
      return {
        value: tf.mul(half, 2),
        gradFunc: (dy, [saved]) => tf.div(dy, saved!),
      }
    })
    const slopes = tf.tidy(() =>
      tf
        .grad(x => root(x))(tf.tensor1d([4, 16]))
        .dataSync(),
    )
    expect([...slopes]).toEqual([0.5, 0.25])
  })

  it('leaves no advertisement of TensorFlow.js to print', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    await useBackend('cpu')
    const write = async () => {
      const fresh = (await tf.findBackendFactory('cpu')()) as tf.KernelBackend
      fresh.write(new Float32Array(1), [1], 'float32')
    }
    await write()
    expect(warn).not.toHaveBeenCalled()
    tf.env().set('PROD', false)
    await write()
    tf.enableProdMode()
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('Hi, looks like'))
    warn.mockRestore()
  })

  it('takes the first available one under auto', async () => {
    expect((await useBackend('auto')).name).toBe(available[0])
    expect((await useBackend()).name).toBe(available[0])
  })

  it('takes null for no options', async () => {
    expect(await useBackend('cpu', null as never)).toMatchObject({name: 'cpu'})
  })

  it('guesses the backend that was meant', async () => {
    await expect(useBackend('wasn' as BackendChoice)).rejects.toMatchObject({
      code: 'UNKNOWN_NAME',
      message: `backend: expected one of the backends auto, ${BACKEND_NAMES.join(', ')}, got "wasn"`,
      suggestions: ['did you mean wasm?'],
    })
  })

  it.runIf(available.length < BACKEND_NAMES.length)(
    'says why a backend is missing and what to do about it',
    async () => {
      const missing = reports.find(report => !report.available)!
      await expect(useBackend(missing.name as BackendName)).rejects.toMatchObject({
        code: 'BACKEND_MISSING',
        message: `backend ${missing.name}: ${missing.reason}`,
        suggestions: [missing.remedy, 'use `backend: auto`'],
      })
    },
  )
})

describe('changes of the backend', () => {
  afterEach(() => void vi.restoreAllMocks())

  it('wait for each other: one that is still starting would be given up for the next', async () => {
    let running = 0
    let together = 0
    for (const backend of [native, cpu, wasm]) {
      vi.spyOn(backend, 'probe').mockImplementation(async () => {
        together = Math.max(together, ++running)
        await new Promise(setImmediate)
        running--
        return {available: true, detail: backend === native ? 'C++ kernels' : 'TensorFlow.js'}
      })
    }
    const taken = [tryPreferred(), useBackend('wasm'), meteredBackend('auto'), useBackend('cpu')]
    await expect(Promise.all(taken)).resolves.toMatchObject([
      undefined,
      {name: 'wasm'},
      'native',
      {name: 'cpu'},
    ])
    expect(together).toBe(1)
    expect(tf.getBackend()).toBe('cpu')
  })

  it('go on after one that failed', async () => {
    vi.spyOn(wasm, 'probe').mockRejectedValueOnce(new Error('odd'))
    const failing = useBackend('wasm').catch(({message}) => message)
    await expect(Promise.all([failing, useBackend('cpu')])).resolves.toMatchObject([
      'odd',
      {name: 'cpu'},
    ])
  })
})

describe('auto without native', () => {
  const without = (why: {reason: string; absent?: boolean}) =>
    vi
      .spyOn(native, 'probe')
      .mockResolvedValue({available: false, detail: 'C++ kernels', remedy: 'mend it', ...why})
  const note = vi.fn()
  beforeEach(() => {
    vi.stubEnv('RFA_ISA', undefined)
    note.mockClear()
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  })

  it('says once why a native backend that is there was passed over', async () => {
    without({reason: 'the addon does not load here: GLIBC_2.99'})
    const {name} = await useBackend('auto', {note})
    expect(note.mock.calls).toEqual([
      [`native: the addon does not load here: GLIBC_2.99; using ${name}`],
    ])
  })

  it.each([
    ['switched off', {RFA_NO_NATIVE: '1'}],
    ['never built', {}],
  ])('has nothing to say of one that is %s', async (_, env) => {
    const load = () => {
      throw new Error('No native build was found for platform=linux')
    }
    const result = loadFrom({root: '/package', env, load})
    if ('addon' in result) throw new Error('expected no addon')
    without(result)
    await useBackend('auto', {note})
    expect(note).not.toHaveBeenCalled()
  })

  it.each(['auto', 'native'] as const)(
    'refuses an RFA_ISA that cannot be had (%s)',
    async choice => {
      vi.stubEnv('RFA_ISA', 'bogus')
      without({reason: 'RFA_ISA: unknown instruction set "bogus"'})
      await expect(useBackend(choice, {note})).rejects.toMatchObject({
        code: 'BACKEND_MISSING',
        message: 'backend native: RFA_ISA: unknown instruction set "bogus"',
        suggestions: ['mend it', 'without RFA_ISA, `backend: auto` takes another one'],
      })
      expect(note).not.toHaveBeenCalled()
    },
  )
})

describe('probeBackends', () => {
  it('reports every backend, in order of preference', () => {
    expect(reports.map(({name}) => name)).toEqual(BACKEND_NAMES)
    expect(available).toContain('wasm')
    expect(available).toContain('cpu')
  })

  it('gives a detail for every backend, and reason and remedy for every missing one', () => {
    for (const {available: runs, detail, reason, remedy} of reports) {
      expect(detail.length).toBeGreaterThan(0)
      expect(Boolean(reason)).toBe(!runs)
      expect(Boolean(remedy)).toBe(!runs)
    }
  })

  it('leaves the current backend as it was', async () => {
    await useBackend('cpu')
    await probeBackends()
    expect(tf.getBackend()).toBe('cpu')
  })
})
