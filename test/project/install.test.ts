import {execFileSync} from 'node:child_process'
import {cpSync, mkdirSync, mkdtempSync, symlinkSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

/** A copy of what the install script needs, so that the addon of this checkout is left alone. */
function copyOfPackage(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-install-'))
  for (const part of ['scripts', 'binding.gyp', 'package.json', 'native']) {
    const keep = (path: string) => !path.includes(join('native', 'build'))
    cpSync(join(packageRoot(), part), join(folder, part), {recursive: true, filter: keep})
  }
  symlinkSync(join(packageRoot(), 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** stdout of the install script; throws when it fails. */
function install(folder: string, env: NodeJS.ProcessEnv): string {
  const script = join(folder, 'scripts', 'install-native.js')
  return execFileSync(process.execPath, [script], {env, encoding: 'utf8', stdio: 'pipe'})
}

describe('the install script', () => {
  it('says one line and builds nothing with RFA_NO_NATIVE', () => {
    const out = install(copyOfPackage(), {...process.env, RFA_NO_NATIVE: '1'})
    expect(out).toMatch(/^rfa: addon skipped by RFA_NO_NATIVE; everything runs on WebAssembly.*\n$/)
  })

  it('says one line and does not fail where there is no compiler', () => {
    const folder = copyOfPackage()
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    const {RFA_NO_NATIVE: _off, CC: _cc, CXX: _cxx, ...env} = process.env
    const out = install(folder, {...env, PATH: bin})
    expect(out).toMatch(
      /^rfa: addon not built: no C\+\+ compiler.*everything runs on WebAssembly.*\n$/,
    )
  })
})
