import {existsSync} from 'node:fs'
import {isAbsolute, join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {PACKAGED_INPUT, packagedInput} from '../../../src/cli/packaged-input.js'
import {packageRoot} from '../../../src/package.js'

describe('the packaged input', () => {
  it('lies in the folder of the package', () => {
    expect(existsSync(join(packageRoot(), PACKAGED_INPUT))).toBe(true)
  })

  it('is named relative to a folder above it, so that plans agree between machines', () => {
    expect(packagedInput(packageRoot())).toBe(PACKAGED_INPUT)
  })

  it('is named in full from elsewhere', () => {
    const path = packagedInput(join(packageRoot(), 'src'))
    expect(isAbsolute(path)).toBe(true)
    expect(existsSync(path)).toBe(true)
  })
})
