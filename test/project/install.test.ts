import {execFileSync, spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'

const SCRIPT = '/usr/bin/script'
const BUILT = join(packageRoot(), 'build', 'Release', 'rfa.node')

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

  it('says that it starts, and does not fail where there is no compiler', () => {
    const folder = copyOfPackage()
    const out = install(folder, withoutCompiler(folder))
    expect(out).toMatch(
      /^rfa: building .* about a minute.*\nrfa: addon not built: no C\+\+ compiler.*everything runs on WebAssembly.*\n$/,
    )
  })

  it.runIf(existsSync(BUILT))('builds nothing where a prebuilt addon loads', () => {
    const folder = copyOfPackage()
    cpSync(BUILT, prebuiltOf(folder))
    const out = install(folder, withoutCompiler(folder))
    expect(out).toBe('rfa: prebuilt addon fits this machine\n')
    expect(existsSync(join(folder, 'build'))).toBe(false)
  })

  it.runIf(existsSync(BUILT))(
    'takes no prebuilt addon that was changed after it was packed',
    () => {
      const folder = copyOfPackage()
      const place = prebuiltOf(folder)
      cpSync(BUILT, place)
      const check = 'dist/src/backends/native/prebuilt.js'
      cpSync(join(packageRoot(), check), join(folder, check))
      const name = place.slice(join(folder, 'prebuilds/').length)
      const sum = createHash('sha256').update(readFileSync(place)).digest('hex')
      writeFileSync(join(folder, 'prebuilds', 'SHA256SUMS'), `${sum}  ${name}\n`)
      const env = withoutCompiler(folder)
      expect(install(folder, env)).toBe('rfa: prebuilt addon fits this machine\n')
      const bytes = readFileSync(place)
      bytes[bytes.length >> 1]! ^= 1
      writeFileSync(place, bytes)
      expect(install(folder, env)).toMatch(
        new RegExp(
          `^rfa: prebuilt addon not taken: prebuilds/${name}: expected SHA-256 ${sum}, got [0-9a-f]{64}\nrfa: building`,
        ),
      )
    },
  )

  it.runIf(existsSync(BUILT))(
    'builds where a prebuilt addon does not load, whatever was built before',
    () => {
      const folder = copyOfPackage()
      writeFileSync(prebuiltOf(folder), 'of another system')
      mkdirSync(join(folder, 'build', 'Release'), {recursive: true})
      cpSync(BUILT, join(folder, 'build', 'Release', 'rfa.node'))
      expect(install(folder, withoutCompiler(folder))).toContain('rfa: building the C++ addon')
    },
  )

  const npm = {npm_config_user_agent: 'npm/11.0.0 node/v20.19.0', CI: ''}
  it.runIf(hasScript()).each([
    {who: 'npm, which hides what scripts print', env: npm, told: true},
    {who: 'npm that shows it', env: {...npm, npm_config_foreground_scripts: 'true'}, told: false},
    {who: 'npm told to be silent', env: {...npm, npm_config_loglevel: 'silent'}, told: false},
    {who: 'npm in CI', env: {...npm, CI: 'true'}, told: false},
    {
      who: 'pnpm, which shows it itself',
      env: {...npm, npm_config_user_agent: 'pnpm/10'},
      told: false,
    },
  ])('reports the terminal of $who: $told', ({env, told}) => {
    const folder = copyOfPackage()
    const screen = inTerminal(folder, {...withoutCompiler(folder), ...env})
    expect(screen.includes('rfa: building the C++ addon, about a minute')).toBe(told)
    expect(screen).not.toContain('addon not built') // went where npm reads it
  })
})

/** Where node-gyp-build looks for an addon prebuilt for this machine; its folder is made. */
function prebuiltOf(folder: string): string {
  const place = join(folder, 'prebuilds', `${process.platform}-${process.arch}`)
  mkdirSync(place, {recursive: true})
  return join(place, 'rfa.node')
}

/** An environment in which nothing compiles. */
function withoutCompiler(folder: string): NodeJS.ProcessEnv {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const {RFA_NO_NATIVE: _off, CC: _cc, CXX: _cxx, ...env} = process.env
  return {...env, PATH: bin}
}

/** Whether there is util-linux's `script`, which gives a process a terminal. */
function hasScript(): boolean {
  return (
    spawnSync(SCRIPT, ['--version'], {encoding: 'utf8'}).stdout?.includes('util-linux') ?? false
  )
}

/** What the install script writes to its terminal while its stdout goes elsewhere, as npm has it. */
function inTerminal(folder: string, env: NodeJS.ProcessEnv): string {
  const script = join(folder, 'scripts', 'install-native.js')
  const command = `'${process.execPath}' '${script}' > '${join(folder, 'stdout')}'`
  const argv = ['--quiet', '--return', '--command', command, join(folder, 'typescript')]
  return execFileSync(SCRIPT, argv, {env: {...env, SHELL: '/bin/sh'}, encoding: 'utf8'})
}
