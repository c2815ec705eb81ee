// What every page of the memory console has: its figures are fetched again when something in memory changed.
import { $, ready } from "./dom.js";
import "./shell.js";

$('.parts [aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "center" });
ready();
