// What every page of the console has: the frame of all pages, and its own part in sight in the menu of parts.
import { $ } from "./dom.js";
import "./seek.js";
import "./shell.js";

$('.parts [aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "center" });
