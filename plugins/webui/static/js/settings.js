// The settings page: one form a setting, and the keys of programs.
import { ready } from "./dom.js";
import "./shell.js";
import "./forms.js";
import "./keys.js";

ready();
