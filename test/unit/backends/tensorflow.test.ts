import util from 'node:util'
import {afterEach, describe, expect, it, vi} from 'vitest'
import tensorflow from '../../../src/backends/tensorflow.js'
import {whyNotLoaded, whyNotRunning} from '../../../src/backends/tensorflow-absent.js'
import {tf} from '../../../src/tf.js'

const CHECKOUT = {platform: 'linux', arch: 'x64', root: '/home/me/rfa', cwd: '/home/me/rfa'}
const PROJECT = {...CHECKOUT, root: '/home/me/project/node_modules/rfa', cwd: '/home/me/project'}
const ELSEWHERE = {...CHECKOUT, platform: 'darwin', arch: 'arm64'}

const PRUNED = Object.assign(
  new Error("Cannot find package '@tensorflow/tfjs-node' imported from /somewhere/tensorflow.js"),
  {code: 'ERR_MODULE_NOT_FOUND'},
)
const UNBUILT = new Error(
  'The Node.js native addon module (tfjs_binding.node) can not be found at path: /x/tfjs_binding.node',
)
const NO_LIBRARY = new Error(
  'libtensorflow_cc.so.2: cannot open shared object file: No such file or directory',
)

describe('the ways in which @tensorflow/tfjs-node is not there', () => {
  it('removed because its install script failed', () => {
    const {reason, remedy} = whyNotLoaded(PRUNED, CHECKOUT)
    expect(reason).toMatch(/is not installed: npm leaves it out/)
    expect(remedy).toBe('npm run setup:tensorflow, which takes it from a package of PyPI')
    expect(whyNotLoaded(PRUNED, ELSEWHERE).remedy).toMatch(/TFJS_NODE_CDN_STORAGE/)
  })

  it('present, but its install script never ran', () => {
    const {reason, remedy} = whyNotLoaded(UNBUILT, CHECKOUT)
    expect(reason).toMatch(/is installed but its native addon is not/)
    expect(remedy).toMatch(/^npm run setup:tensorflow; or, .* npm rebuild @tensorflow\/tfjs-node/)
    expect(whyNotLoaded(UNBUILT, ELSEWHERE).remedy).toMatch(/^npm rebuild @tensorflow/)
  })

  it('present, but without the library that its addon wants', () => {
    const {reason, remedy} = whyNotLoaded(NO_LIBRARY, CHECKOUT)
    expect(reason).toMatch(/its library is not: libtensorflow_cc\.so\.2/)
    expect(remedy).toBe('npm run setup:tensorflow')
  })

  it('in another project: the script is named by its path', () => {
    const script = 'node_modules/rfa/scripts/setup-tensorflow.js'
    expect(whyNotLoaded(PRUNED, PROJECT)).toEqual({
      reason: '@tensorflow/tfjs-node is not installed: it is an optional addition',
      remedy: `npm install @tensorflow/tfjs-node@4.22.0; or, where its download is refused, node ${script}, which takes the library from a package of PyPI`,
    })
    expect(whyNotLoaded(NO_LIBRARY, PROJECT).remedy).toBe(`node ${script}`)
    const outside = {...PROJECT, cwd: '/home/me/other'}
    expect(whyNotLoaded(PRUNED, outside).remedy).toMatch(`node /home/me/project/${script}, which`)
  })

  it('names the script so that a shell reads it as one word', () => {
    const root = "/home/me/it's my project/node_modules/rfa"
    expect(whyNotLoaded(NO_LIBRARY, {...PROJECT, root, cwd: '/'}).remedy).toMatch(
      /^node 'home\/me\/it'"'"'s my project\/node_modules\/rfa\/scripts\/setup-tensorflow\.js'$/,
    )
  })

  it('loaded, but its kernels fail', () => {
    const {reason, remedy} = whyNotRunning(
      new TypeError('util_1.isNullOrUndefined is not a function'),
    )
    expect(reason).toContain(`does not run on Node ${process.versions.node}`)
    expect(remedy).toBe('use Node 20 or 22 for this backend')
  })

  it('anything else is passed on with a remedy', () => {
    expect(whyNotLoaded(new Error('odd'))).toEqual({
      reason: '@tensorflow/tfjs-node does not load: odd',
      remedy: 'run npm ci again',
    })
    expect(whyNotRunning(new Error('odd'))).toEqual({
      reason: '@tensorflow/tfjs-node loads but does not run: odd',
      remedy: 'use `backend: wasm`',
    })
    expect(whyNotLoaded('not an error').reason).toContain('not an error')
  })

  it('a missing dependency of the package is not taken for the package', () => {
    const error = Object.assign(new Error("Cannot find package 'tar' imported from x"), {
      code: 'ERR_MODULE_NOT_FOUND',
    })
    expect(whyNotLoaded(error).reason).toMatch(/does not load: Cannot find package 'tar'/)
  })
})

const {isArray, isNullOrUndefined} = util as unknown as Record<string, unknown>
const UTILITIES = {isArray, isNullOrUndefined}
const {available} = await tensorflow.probe()

it.runIf(Number.parseInt(process.versions.node, 10) < 22)(
  'leaves the functions of Node alone where Node does not warn of them',
  () => expect(util).toMatchObject(UTILITIES),
)

describe.runIf(available)('backend tensorflow, where it is set up', () => {
  afterEach(() => void vi.restoreAllMocks())

  it('names the version of its library', async () => {
    expect((await tensorflow.probe()).detail).toMatch(/^TensorFlow 2\.\d+\.\d+ through @tensorflow/)
    expect(tensorflow.describe?.()).toMatch(/, \d+ threads?$/)
  })

  it('is absent where its package registered with another TensorFlow.js', async () => {
    vi.spyOn(tf, 'findBackendFactory').mockReturnValue(undefined as never)
    expect(await tensorflow.probe()).toMatchObject({
      available: false,
      reason: expect.stringContaining('another copy of @tensorflow/tfjs-core'),
      remedy: expect.stringContaining('npm ls @tensorflow/tfjs-core'),
    })
  })
})
