import {describe, expect, it} from 'vitest'
import {whyNotLoaded, whyNotRunning} from '../../../src/backends/tensorflow.js'

function withCode(message: string, code: string): Error {
  return Object.assign(new Error(message), {code})
}

describe('the three ways in which @tensorflow/tfjs-node is not there', () => {
  it('removed because its install script failed', () => {
    const error = withCode(
      "Cannot find package '@tensorflow/tfjs-node' imported from /somewhere/tensorflow.js",
      'ERR_MODULE_NOT_FOUND',
    )
    const {reason, remedy} = whyNotLoaded(error)
    expect(reason).toMatch(/is not installed: npm removed it/)
    expect(remedy).toMatch(/TFJS_NODE_CDN_STORAGE/)
  })

  it('present, but its install script never ran', () => {
    const error = new Error(
      'The Node.js native addon module (tfjs_binding.node) can not be found at path: /x/tfjs_binding.node',
    )
    const {reason, remedy} = whyNotLoaded(error)
    expect(reason).toMatch(/is installed but its native addon is not/)
    expect(remedy).toMatch(/^npm rebuild @tensorflow\/tfjs-node/)
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
    const error = withCode("Cannot find package 'tar' imported from x", 'ERR_MODULE_NOT_FOUND')
    expect(whyNotLoaded(error).reason).toMatch(/does not load: Cannot find package 'tar'/)
  })
})
