/** The package as it is released, for the suites that install it. */
import {existsSync} from 'node:fs'
import {join} from 'node:path'
import {isOn} from '../../src/backends/native/loader.js'
import {packageRoot} from '../../src/package.js'
import {pack} from '../helpers/packed.js'

/** Whether to install anything: that takes registries, and minutes. */
export const INSTALL = isOn(process.env.RFA_INSTALL)

/** What was installed how, how that went, how long it took, remarks. */
export type Row = [title: string, outcome: string, took: string, remark: string]

/** Packs what is built, prebuilt addons included. @param args - of scripts/pack.js. @returns the file, below `folder` */
export function releasePackage(folder: string, ...args: string[]): string {
  const addon = join('prebuilds', `${process.platform}-${process.arch}`, 'rfa.glibc.node')
  if (!existsSync(join(packageRoot(), addon))) {
    throw new Error(`${addon}: expected a prebuilt addon; npm run build:prebuilds makes it`)
  }
  return join(folder, pack('--pack-destination', folder, ...args).filename)
}

/** Prints rows in columns; nothing when there are none. */
export function tellTable(rows: readonly Row[]): void {
  const widths = [0, 1, 2].map(column => Math.max(...rows.map(row => row[column]!.length)))
  const lines = rows.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  process.stdout.write(lines.map(line => `${line}\n`).join(''))
}
